# SPDX-License-Identifier: BSD-3-Clause
"""A trace for Perfetto (ui.perfetto.dev) and chrome://tracing: trace-event JSON, times in us."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tutti.reporters.text import write_file
from tutti.reporters.trace_kinds import LEGEND
from tutti.trace import Message, Trace

# Names of Chrome's palette.
COLORS = {"computing": "good", "progress": "rail_load", "waiting": "bad", "idle": "yellow"}


def write(path: Path, trace: Trace) -> None:
    document = {"traceEvents": list(events(trace)), "displayTimeUnit": "ns"}
    write_file(path, json.dumps(document) + "\n")


def events(trace: Trace) -> Iterator[dict[str, Any]]:
    """One process, a thread a core; a message is an arrow and an asynchronous slice."""
    yield {"ph": "M", "pid": 0, "name": "process_name", "args": {"name": trace.title}}
    for row, name in enumerate(trace.cores):
        yield {"ph": "M", "pid": 0, "tid": row, "name": "thread_name", "args": {"name": name}}
        yield {"ph": "M", "pid": 0, "tid": row, "name": "thread_sort_index",
               "args": {"sort_index": row}}  # fmt: skip
    for row, spans in enumerate(trace.rows()):
        for span in spans:
            yield {
                "ph": "X",
                "pid": 0,
                "tid": row,
                "ts": span.begin / 1000,
                "dur": (span.end - span.begin) / 1000,
                "cat": span.kind,
                "name": span.what or LEGEND[span.kind],
                "cname": COLORS[span.kind],
                "args": {"thread": span.thread},
            }
    for index, message in enumerate(trace.messages):
        yield from _message(index, message)


def _message(index: int, message: Message) -> Iterator[dict[str, Any]]:
    shared = {"pid": 0, "id": index, "name": message.what or "message"}
    sent = {"tid": message.from_row, "ts": message.begin / 1000}
    arrived = {"tid": message.to_row, "ts": message.end / 1000}
    said = {"bytes": message.bytes, "from": message.from_rank, "to": message.to_rank}
    yield {"ph": "s", "cat": "arrow", **shared, **sent}
    yield {"ph": "f", "cat": "arrow", "bp": "e", **shared, **arrived}
    yield {"ph": "b", "cat": "message", **shared, **sent, "args": said}
    yield {"ph": "e", "cat": "message", **shared, **arrived}
