# SPDX-License-Identifier: BSD-3-Clause
"""`tutti trace`: what it prints, each file it writes read back, and files that are no traces."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import traces
from py_mini_racer import MiniRacer
from tutti import trace
from tutti.reporters.trace_kinds import COLORS

SUMMARY = """\
Ireduce, 2 ranks: 10 us on 3 cores, 8 spans, 2 messages
core       computing  progress  waiting   idle  nothing
core 0         80.0%      0.0%    20.0%   0.0%     0.0%
core 1         50.0%      0.0%    40.0%   0.0%    10.0%
core 31         0.0%     50.0%     0.0%  50.0%     0.0%
all cores      43.3%     16.7%    20.0%  16.7%     3.3%
longest waits:
time  from  core    thread  what
4 us  5 us  core 1  rank 1  Wait
2 us  8 us  core 0  rank 0  Wait
next: `tutti trace {file} --html trace.html`
"""


@pytest.fixture
def written(tmp_path: Path):
    def write(document: Any) -> str:
        file = tmp_path / "trace.json"
        file.write_text(document if isinstance(document, str) else json.dumps(document))
        return str(file)

    return write


@pytest.fixture
def export(tutti, written, tmp_path: Path):
    """Writes one format and returns what is in it."""

    def run(kind: str, document: Any, *words: str, suffix: str = "") -> str:
        file = tmp_path / f"exported.{suffix or kind}"
        result = tutti("trace", written(document), f"--{kind}", str(file), *words)
        assert (result.code, result.out, result.err) == (0, "", "")
        return file.read_text()

    return run


def test_the_summary(tutti, written):
    file = written(traces.small())
    result = tutti("trace", file)
    assert (result.code, result.err) == (0, "")
    lines = [line.rstrip() for line in result.out.splitlines()]
    assert lines == SUMMARY.format(file=file).splitlines()


def test_the_summary_of_a_part(tutti, written):
    document = {**traces.small(), "dropped": 3}
    lines = tutti("trace", written(document), "--from", "2us", "--to", "4.0us").out.splitlines()
    assert lines[0].startswith("Ireduce, 2 ranks: 2 us on 3 cores, 3 spans, 1 message")
    assert lines[1] == "3 events had no room: the trace has gaps"
    assert lines[-2].split() == ["all", "cores", "66.7%", "33.3%", "0.0%", "0.0%", "0.0%"]
    document["dropped"] = 1 << 40  # of a long job
    assert tutti("trace", written(document)).code == 0


@pytest.mark.parametrize(
    ("spans", "shown"),
    [
        # A progress thread interrupts its rank, on the same core.
        (
            [("rank", "computing", 0, 10), ("progress", "progress", 4, 6)],
            [("computing", 0, 4), ("progress", 4, 6), ("computing", 6, 10)],
        ),
        # One that idles does not, whichever began first.
        (
            [("rank", "computing", 2, 8), ("progress", "idle", 4, 12)],
            [("computing", 2, 8), ("idle", 8, 12)],
        ),
        (
            [("progress", "idle", 0, 12), ("rank", "waiting", 2, 8)],
            [("idle", 0, 2), ("waiting", 2, 8), ("idle", 8, 12)],
        ),
        # One span within another, from the same time on.
        (
            [("rank", "waiting", 0, 10), ("rank", "progress", 0, 3)],
            [("progress", 0, 3), ("waiting", 3, 10)],
        ),
        # Steps of a kind stay apart, gaps stay gaps, and what takes no time is not seen.
        (
            [("rank", "progress", 0, 3), ("rank", "progress", 3, 5), ("rank", "idle", 7, 7)],
            [("progress", 0, 3), ("progress", 3, 5)],
        ),
    ],
)
def test_what_a_core_shows(written, spans, shown):
    document = traces.small()
    document["messages"] = []
    document["spans"] = [
        {"core": 1, "rank": 0, "executor": executor, "kind": kind, "begin": begin, "end": end}
        for executor, kind, begin, end in spans
    ]
    first = min(begin for _, begin, _ in shown)
    rows = trace.read(Path(written(document))).rows()
    seen = [(span.kind, span.begin + first, span.end + first) for span in rows[1]]
    assert (rows[0], seen, rows[2]) == ([], shown, [])


def test_chrome(export):
    document = json.loads(export("chrome", traces.small()))
    events = document["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert names == {0: "core 0", 1: "core 1", 2: "core 31"}
    slices = [e for e in events if e["ph"] == "X"]
    assert [(e["tid"], e["cat"], e["ts"], e["dur"]) for e in slices] == [
        (0, "computing", 0, 8),
        (0, "waiting", 8, 2),
        (1, "computing", 0, 5),
        (1, "waiting", 5, 4),
        (2, "idle", 0, 2),
        (2, "progress", 2, 2),
        (2, "progress", 4, 3),
        (2, "idle", 7, 3),
    ]
    assert slices[5]["name"] == "send"
    assert slices[5]["args"] == {"thread": "progress of rank 1"}
    for begin, end in (("s", "f"), ("b", "e")):
        pairs = [[e for e in events if e["ph"] == phase] for phase in (begin, end)]
        assert [(e["id"], e["tid"], e["ts"]) for e in pairs[0]] == [(0, 2, 3), (1, 1, 5)]
        assert [(e["id"], e["tid"], e["ts"]) for e in pairs[1]] == [(0, 2, 4), (1, 0, 7)]


def test_paje(export):
    paje = traces.Paje(export("paje", traces.small()))
    assert list(paje.names.values()) == ["Ireduce, 2 ranks", "core 0", "core 1", "core 31"]
    states = [
        (name, begin, end, of["Value"]) for name, begin, end, of in sorted(paje.states, key=str)
    ]
    assert states[:3] == [
        ("core 0", 0, 8e-6, "computing"),
        ("core 0", 8e-6, 1e-5, "waiting"),
        ("core 1", 0, 5e-6, "computing"),
    ]
    assert len(states) == 8
    [received] = [of for *_, of in paje.states if of["Thread"] == "progress of rank 0"]
    assert received["What"] == "receive '2 MiB'"
    assert [link[:4] for link in paje.links] == [
        ("core 31", "core 31", 3e-6, 4e-6),
        ("core 1", "core 0", 5e-6, 7e-6),
    ]
    assert {link[-1]["Bytes"] for link in paje.links} == {"2097152"}


def test_paje_of_a_part(export):
    """A message that was sent before, and one that arrives later, are whole."""
    paje = traces.Paje(export("paje", traces.small(), "--from", "3.5us", "--to", "6us"))
    assert sorted(begin for _, begin, _, _ in paje.states)[0] == 3.5e-6
    assert [link[2:4] for link in paje.links] == [(3e-6, 4e-6), (5e-6, 7e-6)]


def test_svg(export):
    drawing = export("svg", traces.small(), "--message", "1")
    assert ElementTree.fromstring(drawing).tag.endswith("svg")
    assert all(color in drawing for color in COLORS.values())
    # A title with a formula's sign, and no messages.
    odd = {**traces.small(), "title": "$x_$ <&>", "messages": []}
    odd["cores"][0]["name"] = "$_$"
    ElementTree.fromstring(export("svg", odd))


def test_many_spans_are_quick_and_small(export):
    document = traces.large()
    assert len(export("svg", document)) < 2 << 20
    assert len(json.loads(export("chrome", document))["traceEvents"]) > 24000
    assert len(traces.Paje(export("paje", document)).states) == 24000
    page = Page(export("html", document))
    assert page("drawn.rects.length") < 16 * 2200  # not more than the pixels can show


class Page:
    """The page in an engine, with just enough of a browser around it."""

    def __init__(self, text: str) -> None:
        assert not re.search(r"https?:|src=|@import|url\(", text), "it needs nothing else"
        [self.script] = re.findall(r"<script>(.*)</script>", text, re.DOTALL)
        assert "</script" not in self.script
        self.engine = MiniRacer()
        self.engine.eval(traces.BROWSER + self.script + "\n0")

    def __call__(self, code: str) -> Any:
        return json.loads(self.engine.eval(f"JSON.stringify({code})"))

    def spans(self) -> list[tuple[str, float, float]]:
        """Kind, begin and end in pixels of what the first row shows, without its shares."""
        kinds = {color: kind for kind, color in COLORS.items()}
        return [
            (kinds[color], round(x), round(x + width))
            for color, x, y, width, _ in self("drawn.rects")
            if color in kinds and y == 0 and x < self("right()")
        ]


@pytest.fixture
def page(export):
    return lambda document, *words: Page(export("html", document, *words))


def test_html_draws(page):
    shown = page({**traces.small(), "title": "</script> <b>DATA TITLE"})
    assert shown("elements.title.textContent") == "</script> <b>DATA TITLE"
    left, right = shown("LEFT"), shown("right()")
    turn = round(left + 0.8 * (right - left))
    assert shown.spans() == [("computing", left, turn - 1), ("waiting", turn, right - 1)]
    assert len(shown("drawn.lines")) == 2
    assert {"core 0", "core 31", "0 ns", "10 us"} <= set(shown("drawn.texts"))
    legend = shown("elements.legend.children.map(child => child.textContent).filter(text => text)")
    assert legend == [
        "computing 43.3%", "progressing communication 16.7%", "waiting, busy 20.0%", "idle 16.7%",
    ]  # fmt: skip


def test_html_zooms_moves_and_tells(page):
    shown = page(traces.small())
    shown("happen('wheel', xAt(8000), 5, {deltaY: -1}) || 0")
    assert shown("[view.begin, view.end]") == pytest.approx([8000 - 8000 / 1.3, 8000 + 2000 / 1.3])
    assert [kind for kind, *_ in shown.spans()] == ["computing", "waiting"]
    shown("happen('mousedown', 500, 5) || 0")
    shown("happen('mousemove', -5000, 5) || 0")  # to the end, and no further
    shown("happen('window mouseup', 0, 0) || 0")
    assert shown("[view.begin, view.end]") == pytest.approx([10000 - 10000 / 1.3, 10000])
    shown("happen('dblclick', 0, 0) || 0")
    assert shown("[view.begin, view.end]") == [0, 10000]
    shown("happen('mousemove', xAt(3000), 5) || 0")
    assert shown("tip.textContent") == "computing, rank 0\nwork\n0 ns to 8 us: 8 us"
    shown("happen('mousemove', xAt(9500), middle(1)) || 0")  # nothing is there
    assert shown("[tip.textContent, tip.style.display]") == ["", "none"]


def test_html_zooms_on_a_message(page):
    shown = page(traces.small())
    shown("happen('mousemove', xAt(6000), (middle(0) + middle(1)) / 2) || 0")
    assert shown("tip.textContent") == (
        "message 1: Ireduce 2 MiB\n2097152 bytes from rank 1 on core 1 to rank 0 on core 0\n"
        "5 us to 7 us: 2 us"
    )
    shown("happen('click', xAt(6000), (middle(0) + middle(1)) / 2) || 0")
    assert shown("[view.begin, view.end, view.marked]") == [3000, 9000, 1]
    assert [line[4] for line in shown("drawn.lines")] == [1, 1, 3]
    shown("happen('window keydown', 0, 0, {key: 'Escape'}) || 0")
    assert shown("[view.begin, view.end, view.marked]") == [0, 10000, -1]
    # The option does the same; the rest is there to zoom out to.
    shown = page(traces.small(), "--message", "1")
    assert shown("[view.begin, view.end, view.marked]") == [3000, 9000, 1]
    assert shown("trace.whole") == [0, 10000]


def changed(*keys: Any, to: Any) -> dict[str, Any]:
    """The small trace with one value changed, or taken out."""
    document = copy.deepcopy(traces.small())
    place = document
    for key in keys[:-1]:
        place = place[key]
    if to is KeyError:
        del place[keys[-1]]
    else:
        place[keys[-1]] = to
    return document


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ([], "the trace is not an object"),
        ({}, "the trace has no 'version'"),
        (changed("version", to=2), "its version is 2, this command reads version 1"),
        (changed("version", to="1"), "'version' of the trace must be a number of at least 0"),
        (changed("unit", to="us"), "'unit' of the trace must be ns, not \"us\""),
        (changed("cores", to={}), "'cores' of the trace must be a list"),
        (changed("cores", to=KeyError), "the trace has no 'cores'"),
        (changed("cores", 1, "core", to=0), "a core is listed twice in cores"),
        (changed("cores", 1, "name", to=1), "'name' of cores[1] must be a text"),
        (changed("spans", to=[]), "it has no spans"),
        (changed("spans", 2, to=7), "spans[2] is not an object"),
        (changed("spans", 2, "core", to=2), "spans[2] is on core 2, which is not in cores"),
        (changed("spans", 2, "core", to=True), "'core' of spans[2] must be a number of at least 0"),
        (changed("spans", 2, "rank", to=-2), "'rank' of spans[2] must be a number of at least -1"),
        (
            changed("spans", 2, "kind", to="wating"),
            "'kind' of spans[2] must be computing or progress or waiting or idle, not \"wating\" "
            "(did you mean 'waiting'?)",
        ),
        (
            changed("spans", 2, "executor", to=[1]),
            "'executor' of spans[2] must be rank or progress, not [1]",
        ),
        (changed("spans", 2, "what", to=None), "'what' of spans[2] must be a text"),
        (changed("spans", 2, "end", to=4999), "spans[2] ends before it begins"),
        (changed("spans", 2, "end", to="5"), "spans[2] must begin and end at numbers of ns"),
        (changed("spans", 2, "end", to=1 << 70), "spans[2] must begin and end at numbers of ns"),
        (
            changed("spans", 2, "end", to=float("nan")),
            "spans[2] must begin and end at numbers of ns",
        ),
        (changed("spans", 2, "begin", to=KeyError), "spans[2] has no 'begin'"),
        (changed("messages", 1, "from", to=3), "'from' of messages[1] is not an object"),
        (
            changed("messages", 1, "to", "core", to=9),
            "'to' of messages[1] is on core 9, which is not in cores",
        ),
        (
            changed("messages", 1, "bytes", to=1.5),
            "'bytes' of messages[1] must be a number of at least 0",
        ),
        (changed("dropped", to=-1), "'dropped' of the trace must be a number of at least 0"),
        (
            {**traces.small(), "spans": [traces.span(0, 0, "idle", 5, 5)], "messages": []},
            "all of it takes no time",
        ),
    ],
)
def test_files_that_are_no_traces(tutti, written, document, sentence):
    file = written(document)
    result = tutti("trace", file)
    assert (result.code, result.out) == (7, "")
    assert result.err == f"tutti: {file} is no trace: {sentence}\n"


def test_what_may_be_left_out(tutti, written):
    document = traces.small()
    for key in ("title", "messages", "dropped"):
        del document[key]
    result = tutti("trace", written(document))
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("trace.json: 10 us on 3 cores, 8 spans, 0 messages\n")


def test_control_characters_do_not_reach_the_terminal(tutti, written):
    document = {**traces.small(), "title": "a\x1b[31m\nb [bold]c[/]"}
    out = tutti("trace", written(document)).out
    assert out.startswith("a [31m b [bold]c[/]: 10 us")
    assert "\x1b" not in out


@pytest.mark.parametrize("content", ["", "{", "[" * 100_000, "\x00", '{"version": 1' + "0" * 5000])
def test_files_that_are_not_json(tutti, written, content):
    file = written(content)
    result = tutti("trace", file)
    assert (result.code, result.out) == (7, "")
    assert result.err.startswith(f"tutti: {file} is not JSON: ")
    assert result.err.count("\n") == 1


def test_files_that_cannot_be_read(tutti, tmp_path):
    for file, why in ((tmp_path / "no", "No such file or directory"), (tmp_path, "Is a directory")):
        result = tutti("trace", str(file))
        assert (result.code, result.err) == (7, f"tutti: {file} cannot be read: {why}\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--message", "2"], "--message must be a number from 0 to 1, not '2'"),
        (["--message", "-1"], "--message must be a number from 0 to 1, not '-1'"),
        (["--from", "soon"], "'soon' is no time; write 1.5ms, 200us, 7s or 1200 (ns)"),
        (["--to", "-1us"], "'-1us' is no time; write 1.5ms, 200us, 7s or 1200 (ns)"),
        (
            ["--from", "5us", "--to", "5us"],
            "there is nothing from 5 us to 5 us: the trace lasts 10 us",
        ),
        (["--from", "1s"], "there is nothing from 1 s to 10 us: the trace lasts 10 us"),
        (["--html", "/no/a"], "/no/a cannot be written: there is no directory /no"),
        (["--chrome", "/dev/full"], "/dev/full cannot be written: No space left on device"),
        (["--paje", "/"], "/ cannot be written: it is a directory"),
        *(
            (["--svg", name], f"{name} cannot be drawn: its name must end in .png, .svg or .pdf")
            for name in ("a.bmp", "a", "svg")
        ),
    ],
)
def test_bad_input(tutti, written, words, sentence):
    result = tutti("trace", written(traces.small()), *words)
    assert (result.code, result.out, result.err) == (2, "", f"tutti: {sentence}\n")


def test_the_trace_is_not_overwritten(tutti, written):
    file = written(traces.small())
    result = tutti("trace", file, "--html", file)
    assert result.code == 2
    assert result.err == f"tutti: {file} is the trace itself, which would be overwritten\n"
    assert tutti("trace", file).code == 0


def test_a_message_of_none(tutti, written):
    result = tutti("trace", written({**traces.small(), "messages": []}), "--message", "0")
    assert (result.code, result.err) == (2, "tutti: --message: the trace has no messages\n")
