# SPDX-License-Identifier: BSD-3-Clause
"""What `tutti trace` prints: each core's time by kind, and the longest waits."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.markup import escape

from tutti.reporters.quantities import plural
from tutti.reporters.text import console, table
from tutti.reporters.trace_kinds import show_time
from tutti.trace import KINDS, Span, Trace

MOST_WAITS = 5


def print_summary(trace: Trace, file: str) -> None:
    out = console()
    length = trace.end - trace.begin
    out.print(
        f"[bold]{escape(trace.title)}[/]: {show_time(length)} on "
        f"{plural(len(trace.cores), 'core')}, {plural(len(trace.spans), 'span')}, "
        f"{plural(len(trace.messages), 'message')}"
    )
    if trace.dropped:
        out.print(f"[yellow]{plural(trace.dropped, 'event')} had no room: the trace has gaps[/]")
    printed = table("core", *KINDS, "nothing", right=len(KINDS) + 1)
    totals = dict.fromkeys(KINDS, 0.0)
    for name, row in zip(trace.cores, trace.rows()):
        times = times_by_kind(row)
        printed.add_row(escape(name), *_shares(times, length))
        for kind in KINDS:
            totals[kind] += times[kind]
    printed.add_row("all cores", *_shares(totals, length * len(trace.cores)))
    out.print(printed)
    waits = sorted(
        (span for span in trace.spans if span.kind == "waiting"),
        key=lambda span: span.begin - span.end,
    )[:MOST_WAITS]
    if waits:
        _print_waits(trace, waits)
    out.print(f"next: `tutti trace {escape(shlex.quote(file))} --html trace.html`")


def times_by_kind(row: Sequence[Span]) -> dict[str, float]:
    times = dict.fromkeys(KINDS, 0.0)
    for span in row:
        times[span.kind] += span.end - span.begin
    return times


def _shares(times: dict[str, float], whole: float) -> list[str]:
    parts = [times[kind] / whole for kind in KINDS]
    return [f"{part:.1%}" for part in (*parts, max(0.0, 1 - sum(parts)))]


def _print_waits(trace: Trace, waits: Sequence[Span]) -> None:
    out = console()
    out.print("longest waits:")
    printed = table("time", "from", "core", "thread", "what")
    for span in waits:
        printed.add_row(
            show_time(span.end - span.begin),
            show_time(span.begin),
            escape(trace.cores[span.row]),
            span.thread,
            escape(span.what),
        )
    out.print(printed)
