# SPDX-License-Identifier: BSD-3-Clause
"""A trace as one web page that needs nothing else: trace_page.html with the data in it."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any, Optional

from tutti.reporters.text import write_file
from tutti.reporters.trace_kinds import COLORS, LEGEND, MESSAGE_COLOR
from tutti.trace import KINDS, Trace

PAGE = Path(__file__).with_name("trace_page.html")


def write(path: Path, trace: Trace, window: tuple[float, float], marked: Optional[int]) -> None:
    """`window` is what the page shows at first, `marked` a message to point out."""
    # "</script>" in a title would end the script.
    data = json.dumps(_data(trace, window, marked), separators=(",", ":")).replace("<", "\\u003c")
    page = PAGE.read_text(encoding="utf-8")
    # The title comes first in the page and is put in last: it may hold any word.
    page = page.replace("DATA", data, 1).replace("TITLE", html.escape(trace.title), 1)
    write_file(path, page)


def _data(trace: Trace, window: tuple[float, float], marked: Optional[int]) -> dict[str, Any]:
    labels: dict[str, int] = {}  # each text once: thousands of spans have the same

    def label(text: str) -> int:
        return labels.setdefault(text, len(labels))

    rows = [
        [
            [span.begin, span.end, KINDS.index(span.kind), label(span.thread), label(span.what)]
            for span in row
        ]
        for row in trace.rows()
    ]
    messages = [
        [m.begin, m.end, m.from_row, m.to_row, m.from_rank, m.to_rank, m.bytes, label(m.what)]
        for m in trace.messages
    ]
    return {
        "title": trace.title,
        "dropped": trace.dropped,
        "kinds": [[LEGEND[kind], COLORS[kind]] for kind in KINDS],
        "messageColor": MESSAGE_COLOR,
        "whole": [trace.begin, trace.end],
        "window": window,
        "marked": -1 if marked is None else marked,
        "cores": list(trace.cores),
        "rows": rows,
        "messages": messages,
        "labels": list(labels),
    }
