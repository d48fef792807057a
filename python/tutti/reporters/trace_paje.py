# SPDX-License-Identifier: BSD-3-Clause
"""A trace in the Paje format (de Kergommeaux and de Oliveira Stein), for ViTE and pj_dump.

The head defines the events by number and fields; what follows are events, a line each, in the order
of time (seconds). Cores are containers within one for the node, what they do is a state, pushed and
popped, and a message is a link.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tutti.reporters.text import write_file
from tutti.reporters.trace_kinds import COLORS, LEGEND
from tutti.trace import KINDS, Trace

# In the order of their numbers.
EVENTS = {
    "PajeDefineContainerType": ("Alias string", "Type string", "Name string"),
    "PajeDefineStateType": ("Alias string", "Type string", "Name string"),
    "PajeDefineLinkType": (
        "Alias string", "Type string", "StartContainerType string", "EndContainerType string",
        "Name string",
    ),
    "PajeDefineEntityValue": ("Alias string", "Type string", "Name string", "Color color"),
    "PajeCreateContainer": (
        "Time date", "Alias string", "Type string", "Container string", "Name string",
    ),
    "PajeDestroyContainer": ("Time date", "Type string", "Name string"),
    "PajePushState": (
        "Time date", "Type string", "Container string", "Value string", "Thread string",
        "What string",
    ),
    "PajePopState": ("Time date", "Type string", "Container string"),
    "PajeStartLink": (
        "Time date", "Type string", "Container string", "StartContainer string", "Value string",
        "Key string", "Bytes int",
    ),
    "PajeEndLink": (
        "Time date", "Type string", "Container string", "EndContainer string", "Value string",
        "Key string",
    ),
}  # fmt: skip
NUMBERS = {name: number for number, name in enumerate(EVENTS)}


def write(path: Path, trace: Trace) -> None:
    write_file(path, "\n".join([*_head(), *_definitions(trace), *_events(trace)]) + "\n")


def _head() -> Iterator[str]:
    for name, fields in EVENTS.items():
        yield f"%EventDef {name} {NUMBERS[name]}"
        yield from (f"%   {field}" for field in fields)
        yield "%EndEventDef"


def _line(event: str, *words: object) -> str:
    return " ".join(map(str, (NUMBERS[event], *words)))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "'") + '"'  # there is no escape for a quote


def _seconds(ns: float) -> str:
    return f"{ns / 1e9:.12f}"


def _definitions(trace: Trace) -> Iterator[str]:
    yield _line("PajeDefineContainerType", "N", 0, "node")
    yield _line("PajeDefineContainerType", "C", "N", "core")
    yield _line("PajeDefineStateType", "S", "C", "activity")
    yield _line("PajeDefineLinkType", "M", "N", "C", "C", "message")
    for kind in KINDS:
        parts = (int(COLORS[kind][at : at + 2], 16) / 255 for at in (1, 3, 5))
        color = _quoted(" ".join(f"{part:.3f}" for part in parts))
        yield _line("PajeDefineEntityValue", kind, "S", _quoted(LEGEND[kind]), color)
    # A message that is under way at the beginning was sent before.
    begin = _seconds(min([trace.begin, *(message.begin for message in trace.messages)]))
    yield _line("PajeCreateContainer", begin, "node", "N", 0, _quoted(trace.title))
    for row, name in enumerate(trace.cores):
        yield _line("PajeCreateContainer", begin, f"c{row}", "C", "node", _quoted(name))


def _events(trace: Trace) -> Iterator[str]:
    # At one time: what ends there, what begins there, what is sent, what arrives.
    lines: list[tuple[float, int, str]] = []
    for row, spans in enumerate(trace.rows()):
        for span in spans:
            begin, end = _seconds(span.begin), _seconds(span.end)
            words = [f"c{row}", span.kind, _quoted(span.thread), _quoted(span.what)]
            lines.append((span.end, 0, _line("PajePopState", end, "S", f"c{row}")))
            lines.append((span.begin, 1, _line("PajePushState", begin, "S", *words)))
    for index, message in enumerate(trace.messages):
        begin, end = _seconds(message.begin), _seconds(message.end)
        words = [_quoted(message.what), f"m{index}"]
        sent = ("M", "node", f"c{message.from_row}", *words, message.bytes)
        lines.append((message.begin, 2, _line("PajeStartLink", begin, *sent)))
        arrived = ("M", "node", f"c{message.to_row}", *words)
        lines.append((message.end, 3, _line("PajeEndLink", end, *arrived)))
    lines.sort()
    yield from (line for _, _, line in lines)
    last = _seconds(max([trace.end, *(message.end for message in trace.messages)]))
    for row in range(len(trace.cores)):
        yield _line("PajeDestroyContainer", last, "C", f"c{row}")
    yield _line("PajeDestroyContainer", last, "N", "node")
