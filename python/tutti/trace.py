# SPDX-License-Identifier: BSD-3-Clause
"""A trace: what ran on each core, and what was sent. docs/trace.md has the format of the file."""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional, Union

from tutti.errors import TraceError, nearest

VERSION = 1
KINDS = ("computing", "progress", "waiting", "idle")
EXECUTORS = ("rank", "progress")
LATEST_NS = 1 << 63
MOST_NUMBER = 1 << 31


@dataclass(frozen=True)
class Span:
    """One thread doing one thing. Times are in ns from the trace's beginning, as all below."""

    row: int  # index of its core
    rank: int
    executor: str
    kind: str
    begin: float
    end: float
    what: str

    @property
    def thread(self) -> str:
        rank = f"rank {self.rank}" if self.rank >= 0 else "no rank"
        return rank if self.executor == "rank" else f"progress of {rank}"


@dataclass(frozen=True)
class Message:
    what: str
    bytes: int
    from_row: int
    from_rank: int
    to_row: int
    to_rank: int
    begin: float
    end: float


@dataclass(frozen=True)
class Trace:
    title: str
    cores: Sequence[str]  # their names, one a row
    spans: Sequence[Span]
    messages: Sequence[Message]
    dropped: int
    begin: float  # what is looked at
    end: float

    def clipped(self, begin: float, end: float) -> Trace:
        """What happens between two times."""
        return replace(
            self,
            spans=[
                replace(span, begin=max(span.begin, begin), end=min(span.end, end))
                for span in self.spans
                if span.begin < end and span.end > begin
            ],
            messages=[m for m in self.messages if m.begin <= end and m.end >= begin],
            begin=begin,
            end=end,
        )

    def rows(self) -> list[list[Span]]:
        """For each core what it shows at each time, in order and without overlaps.

        Threads that share a core overlap: of theirs the span that began last is shown, because that
        thread has preempted the other. A thread that idles leaves the core to any other.
        """
        spans: list[list[Span]] = [[] for _ in self.cores]
        for span in self.spans:
            spans[span.row].append(span)
        return [_shown(row) for row in spans]


def _shown(spans: list[Span]) -> list[Span]:
    waiting = sorted(spans, key=lambda span: span.begin, reverse=True)
    times = sorted({time for span in spans for time in (span.begin, span.end)})
    running: list[tuple[bool, float, float, int, Span]] = []  # the first is shown
    shown: list[Span] = []
    last: Optional[Span] = None
    for begin, end in zip(times, times[1:]):
        while waiting and waiting[-1].begin <= begin:
            span = waiting.pop()
            # Of two that begin at once the shorter one is within the other; the count only keeps
            # spans from being compared.
            order = (span.kind == "idle", -span.begin, span.end, len(waiting), span)
            heapq.heappush(running, order)
        while running and running[0][-1].end <= begin:
            heapq.heappop(running)
        if not running:
            continue
        span = running[0][-1]
        if span is last and shown[-1].end == begin:
            shown[-1] = replace(shown[-1], end=end)
        else:
            shown.append(replace(span, begin=begin, end=end))
        last = span
    return shown


def read(path: Path) -> Trace:
    """The trace in a file; raises TraceError with a sentence that names what is wrong in it."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path} is not JSON: {error}") from error
    try:
        return _trace(_Object(document, "the trace"), path)
    except _Wrong as wrong:
        raise TraceError(f"{path} is no trace: {wrong}") from wrong


def _trace(document: _Object, path: Path) -> Trace:
    version = document.whole("version", 0)
    if version != VERSION:
        raise _Wrong(f"its version is {version}, this command reads version {VERSION}")
    document.one_of("unit", ("ns",))
    cores = document.objects("cores")
    numbers = [core.whole("core", 0) for core in cores]
    rows = {number: row for row, number in enumerate(numbers)}
    if len(rows) < len(numbers):
        raise _Wrong("a core is listed twice in cores")
    spans = [_span(span, rows) for span in document.objects("spans")]
    if not spans:
        raise _Wrong("it has no spans")
    messages = [_message(message, rows) for message in document.objects("messages", ())]
    things: list[Union[Span, Message]] = [*spans, *messages]
    origin = min(thing.begin for thing in things)
    length = max(thing.end for thing in things) - origin
    if length <= 0:
        raise _Wrong("all of it takes no time")
    names = [core.text("name", f"core {number}") for core, number in zip(cores, numbers)]
    return Trace(
        title=document.text("title", path.name),
        cores=names,
        spans=[_moved(span, origin) for span in spans],
        messages=[_moved(message, origin) for message in messages],
        dropped=document.whole("dropped", 0, 0, most=LATEST_NS),
        begin=0,
        end=length,
    )


def _moved(thing: Any, origin: float) -> Any:
    return replace(thing, begin=thing.begin - origin, end=thing.end - origin)


def _span(span: _Object, rows: dict[int, int]) -> Span:
    return Span(
        _row(span, rows),
        span.whole("rank", -1),
        span.one_of("executor", EXECUTORS),
        span.one_of("kind", KINDS),
        *span.period(),
        span.text("what", ""),
    )


def _message(message: _Object, rows: dict[int, int]) -> Message:
    source, target = message.part("from"), message.part("to")
    return Message(
        message.text("what", ""),
        message.whole("bytes", 0, most=LATEST_NS),
        _row(source, rows),
        source.whole("rank", -1),
        _row(target, rows),
        target.whole("rank", -1),
        *message.period(),
    )


def _row(thing: _Object, rows: dict[int, int]) -> int:
    core = thing.whole("core", 0)
    if core not in rows:
        raise _Wrong(f"{thing.where} is on core {core}, which is not in cores")
    return rows[core]


class _Wrong(Exception):
    pass


class _Object:
    """A JSON object whose values are taken out with the type that they must have."""

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise _Wrong(f"{where} is not an object")
        self.value = value
        self.where = where

    def _get(self, key: str, default: Any = None) -> Any:
        if key not in self.value and default is None:
            raise _Wrong(f"{self.where} has no '{key}'")
        return self.value.get(key, default)

    def whole(
        self, key: str, least: int, default: Optional[int] = None, most: int = MOST_NUMBER
    ) -> int:
        value = self._get(key, default)
        if type(value) is not int or not least <= value < most:
            raise _Wrong(f"'{key}' of {self.where} must be a number of at least {least}")
        return value

    def text(self, key: str, default: str) -> str:
        value = self._get(key, default)
        if not isinstance(value, str):
            raise _Wrong(f"'{key}' of {self.where} must be a text")
        return "".join(c if c.isprintable() else " " for c in value)

    def one_of(self, key: str, known: tuple[str, ...]) -> str:
        value = self._get(key)
        if value not in known:
            close = nearest(str(value), known) if len(known) > 1 else ""
            shown = json.dumps(value)[:40]
            raise _Wrong(
                f"'{key}' of {self.where} must be {' or '.join(known)}, not {shown}{close}"
            )
        return str(value)

    def period(self) -> tuple[float, float]:
        begin, end = self._get("begin"), self._get("end")
        for time in (begin, end):
            # What is no number at all, and nan and the infinities, which Python reads.
            if type(time) not in (int, float) or not -LATEST_NS < time < LATEST_NS:
                raise _Wrong(f"{self.where} must begin and end at numbers of ns")
        if not begin <= end:
            raise _Wrong(f"{self.where} ends before it begins")
        return begin, end

    def part(self, key: str) -> _Object:
        return _Object(self._get(key), f"'{key}' of {self.where}")

    def objects(self, key: str, default: Any = None) -> list[_Object]:
        value = self._get(key, default)
        if not isinstance(value, (list, tuple)):
            raise _Wrong(f"'{key}' of {self.where} must be a list")
        return [_Object(each, f"{key}[{index}]") for index, each in enumerate(value)]


def window(trace: Trace, message: Optional[Message]) -> tuple[float, float]:
    """What to look at: a message with as much time on each side, or everything."""
    if message is None:
        return trace.begin, trace.end
    margin = max(message.end - message.begin, (trace.end - trace.begin) / 1000)
    return max(trace.begin, message.begin - margin), min(trace.end, message.end + margin)
