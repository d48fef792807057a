# SPDX-License-Identifier: BSD-3-Clause
"""Made-up traces, and readers of what `tutti trace` makes of them."""

from __future__ import annotations

import re
import shlex
from typing import Any


def span(core: int, rank: int, kind: str, begin: float, end: float, **more: Any) -> dict[str, Any]:
    executor = "progress" if kind in ("progress", "idle") else "rank"
    return dict(core=core, rank=rank, executor=executor, kind=kind, begin=begin, end=end, **more)


def message(sent: tuple[int, int], arrived: tuple[int, int], begin: float, end: float) -> dict:
    """`sent` and `arrived` are (core, rank)."""
    ends = {
        name: {"core": core, "rank": rank}
        for name, (core, rank) in (("from", sent), ("to", arrived))
    }
    return dict(what="Ireduce 2 MiB", bytes=2 << 20, begin=begin, end=end, **ends)


def small() -> dict[str, Any]:
    """Two ranks that compute and wait, and the core 31 that sends for them; 10 us from 5 us on."""
    return {
        "version": 1,
        "unit": "ns",
        "title": "Ireduce, 2 ranks",
        "cores": [{"core": 0, "name": "core 0"}, {"core": 1}, {"core": 31, "name": "core 31"}],
        "spans": [
            span(0, 0, "computing", 5000, 13000, what="work"),
            span(0, 0, "waiting", 13000, 15000, what="Wait"),
            span(1, 1, "computing", 5000, 10000, what="work"),
            span(1, 1, "waiting", 10000, 14000, what="Wait"),
            span(31, -1, "idle", 5000, 7000),
            span(31, 1, "progress", 7000, 9000, what="send"),
            span(31, 0, "progress", 9000, 12000, what='receive "2 MiB"'),
            span(31, -1, "idle", 12000, 15000),
        ],
        "messages": [message((31, 1), (31, 0), 8000, 9000), message((1, 1), (0, 0), 10000, 12000)],
        "dropped": 0,
    }


def large(cores: int = 16, each: int = 1500) -> dict[str, Any]:
    kinds = ("computing", "progress", "waiting", "idle")
    spans = [
        span(core, core, kinds[(core + at) % 4], 1000 * at + core, 1000 * (at + 1) + core)
        for core in range(cores)
        for at in range(each)
    ]
    pairs = [((at % cores, at % cores), ((at + 1) % cores,) * 2) for at in range(each)]
    messages = [
        message(sent, arrived, 1000 * at, 1000 * at + 700)
        for at, (sent, arrived) in enumerate(pairs)
    ]
    numbers = [{"core": core} for core in range(cores)]
    return {**small(), "cores": numbers, "spans": spans, "messages": messages}


class Paje:
    """Reads a Paje file and fails where an event, type, container or value was not defined before,
    times go back, or pushes and pops do not pair."""

    def __init__(self, text: str) -> None:
        self.definitions: dict[str, tuple[str, list[tuple[str, str]]]] = {}
        self.types: dict[str, tuple[str, str]] = {"0": ("", "")}  # alias: (kind, parent)
        self.values: dict[str, str] = {}
        self.containers: dict[str, str] = {"0": "0"}  # alias: type
        self.names: dict[str, str] = {}
        self.open: dict[str, list[tuple[float, dict[str, str]]]] = {}
        self.states: list[tuple[str, float, float, dict[str, str]]] = []
        self.sent: dict[str, tuple[float, dict[str, str]]] = {}
        self.links: list[tuple[str, str, float, float, dict[str, str]]] = []
        self.time = 0.0
        head, events = self._split(text)
        self._define(head)
        for line in events:
            self._event(line)
        assert list(self.containers) == ["0"], "every container is destroyed"
        assert not any(self.open.values()) and not self.sent

    @staticmethod
    def _split(text: str) -> tuple[list[str], list[str]]:
        lines = text.splitlines()
        head = [line for line in lines if line.startswith("%")]
        assert lines[: len(head)] == head, "the head comes first"
        return head, lines[len(head) :]

    def _define(self, head: list[str]) -> None:
        for part in "\n".join(head).split("%EndEventDef")[:-1]:
            first, *fields = [line for line in part.splitlines() if line]
            _, name, number = first.split()
            assert number not in self.definitions
            pairs = [re.fullmatch(r"% +(\w+) (date|string|int|color)", f) for f in fields]
            self.definitions[number] = (name, [(m[1], m[2]) for m in pairs if m])
            assert len(self.definitions[number][1]) == len(fields)

    def _event(self, line: str) -> None:
        number, *words = shlex.split(line)
        name, fields = self.definitions[number]
        assert len(words) == len(fields), line
        values = {field: word for (field, _), word in zip(fields, words)}
        if "Time" in values:
            assert float(values["Time"]) >= self.time, "times go back"
            self.time = float(values["Time"])
        getattr(self, "_" + name.removeprefix("Paje"))(values)

    def _DefineContainerType(self, of: dict[str, str]) -> None:
        assert of["Type"] in self.types
        self.types[of["Alias"]] = ("container", of["Type"])

    def _DefineStateType(self, of: dict[str, str]) -> None:
        assert self.types[of["Type"]][0] == "container"
        self.types[of["Alias"]] = ("state", of["Type"])

    def _DefineLinkType(self, of: dict[str, str]) -> None:
        for field in ("Type", "StartContainerType", "EndContainerType"):
            assert self.types[of[field]][0] == "container"
        self.types[of["Alias"]] = ("link", of["Type"])

    def _DefineEntityValue(self, of: dict[str, str]) -> None:
        assert self.types[of["Type"]][0] == "state"
        assert all(0 <= float(part) <= 1 for part in of["Color"].split())
        self.values[of["Alias"]] = of["Name"]

    def _CreateContainer(self, of: dict[str, str]) -> None:
        assert self.types[of["Type"]] == ("container", self.containers[of["Container"]])
        self.containers[of["Alias"]] = of["Type"]
        self.names[of["Alias"]] = of["Name"]

    def _DestroyContainer(self, of: dict[str, str]) -> None:
        assert self.containers.pop(of["Name"]) == of["Type"]

    def _PushState(self, of: dict[str, str]) -> None:
        assert self.types[of["Type"]] == ("state", self.containers[of["Container"]])
        assert of["Value"] in self.values
        self.open.setdefault(of["Container"], []).append((self.time, of))

    def _PopState(self, of: dict[str, str]) -> None:
        begin, pushed = self.open[of["Container"]].pop()
        assert self.time > begin
        self.states.append((self.names[of["Container"]], begin, self.time, pushed))

    def _StartLink(self, of: dict[str, str]) -> None:
        assert self.types[of["Type"]] == ("link", self.containers[of["Container"]])
        assert of["StartContainer"] in self.containers and of["Key"] not in self.sent
        self.sent[of["Key"]] = (self.time, of)

    def _EndLink(self, of: dict[str, str]) -> None:
        assert of["EndContainer"] in self.containers
        begin, sent = self.sent.pop(of["Key"])
        assert sent["Value"] == of["Value"]
        ends = self.names[sent["StartContainer"]], self.names[of["EndContainer"]]
        self.links.append((*ends, begin, self.time, sent))


# What the page needs of a browser; what it draws is in `drawn`.
BROWSER = """
const drawn = {rects: [], lines: [], texts: []}, handlers = {}, elements = {};
let pen = [0, 0];
const context = {
  fillRect(x, y, w, h) { drawn.rects.push([this.fillStyle, x, y, w, h]); },
  fillText(text) { drawn.texts.push(text); },
  clearRect() { drawn.rects = []; drawn.lines = []; drawn.texts = []; },
  moveTo(x, y) { pen = [x, y]; },
  lineTo(x, y) { drawn.lines.push([...pen, x, y, this.lineWidth]); },
  save() {}, restore() {}, beginPath() {}, rect() {}, clip() {}, stroke() {}, setTransform() {},
};
const makeElement = () => ({
  style: {}, textContent: "", children: [], offsetWidth: 80, clientWidth: 1000,
  append(...more) { this.children.push(...more); },
  addEventListener(name, handler) { handlers[name] = handler; },
  getBoundingClientRect() { return {left: 0, top: 0}; },
  getContext() { return context; },
});
const document = {
  getElementById: id => elements[id] || (elements[id] = makeElement()),
  createElement: makeElement,
};
const window = {
  innerHeight: 600, innerWidth: 1000, devicePixelRatio: 1,
  addEventListener(name, handler) { handlers["window " + name] = handler; },
};
const requestAnimationFrame = action => action();
const happen = (name, x, y, more) =>
  handlers[name]({clientX: x, clientY: y, preventDefault() {}, ...more});
"""
