# SPDX-License-Identifier: BSD-3-Clause
"""Show what ran on each core and what was sent, from a trace file, and draw or export it.

tutti trace trace.json

tutti trace trace.json --from 1.2ms --to 3ms --html trace.html
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Optional

import typer

from tutti import arguments, trace
from tutti.errors import UsageError
from tutti.reporters import trace_chrome, trace_html, trace_kinds, trace_paje, trace_summary

NS = {**dict(trace_kinds.UNITS), "": 1.0}


def register(app: typer.Typer) -> None:
    app.command("trace", help=__doc__)(show)


def show(
    file: Path = typer.Argument(..., metavar="FILE", help="The trace."),
    html: Optional[Path] = typer.Option(
        None, "--html", metavar="FILE", help="Write a page to zoom and move in."
    ),
    svg: Optional[Path] = typer.Option(
        None, "--svg", metavar="FILE", help="Draw a picture (.svg, .png, .pdf)."
    ),
    chrome: Optional[Path] = typer.Option(
        None, "--chrome", metavar="FILE", help="Write it for Perfetto and chrome://tracing."
    ),
    paje: Optional[Path] = typer.Option(
        None, "--paje", metavar="FILE", help="Write it for ViTE, in the Paje format."
    ),
    message: Optional[str] = typer.Option(
        None, "--message", metavar="INDEX", help="Look at one message, the first is 0."
    ),
    begin: Optional[str] = typer.Option(
        None, "--from", metavar="T", help="Leave out what is before: 1.5ms, 200us, 7s."
    ),
    end: Optional[str] = typer.Option(
        None, "--to", metavar="T", help="Leave out what is after that time."
    ),
) -> None:
    arguments.check_outputs(html, chrome, paje, picture=svg)
    for output in (html, svg, chrome, paje):
        if output is not None and output.resolve() == file.resolve():
            raise UsageError(f"{output} is the trace itself, which would be overwritten")
    times = [None if text is None else parse_time(text) for text in (begin, end)]
    whole = trace.read(file)
    index = None if message is None else message_index(message, len(whole.messages))
    marked = None if index is None else whole.messages[index]
    window = narrowed(whole, marked, *times)
    part = whole.clipped(*window)
    if html is not None:
        trace_html.write(html, whole, window, index)
    if chrome is not None:
        trace_chrome.write(chrome, part)
    if paje is not None:
        trace_paje.write(paje, part)
    if svg is not None:
        from tutti.reporters import trace_svg  # matplotlib takes a second to load

        trace_svg.draw(svg, part, marked)
    if not (html or chrome or paje or svg):
        trace_summary.print_summary(part, str(file))


def narrowed(
    whole: trace.Trace,
    marked: Optional[trace.Message],
    begin: Optional[float],
    end: Optional[float],
) -> tuple[float, float]:
    """What to look at: the message or everything, between --from and --to where they are given."""
    first, last = trace.window(whole, marked)
    window = first if begin is None else begin, last if end is None else min(end, whole.end)
    if window[0] >= window[1]:
        raise UsageError(
            f"there is nothing from {trace_kinds.show_time(window[0])} to "
            f"{trace_kinds.show_time(window[1])}: the trace lasts "
            f"{trace_kinds.show_time(whole.end)}"
        )
    return window


def message_index(text: str, count: int) -> int:
    if text.isdecimal() and len(text) <= 18 and int(text) < count:
        return int(text)
    if count == 0:
        raise UsageError("--message: the trace has no messages")
    raise UsageError(f"--message must be a number from 0 to {count - 1}, not '{text}'")


def parse_time(text: str) -> float:
    """``1.5ms`` in ns; a number without a unit is ns."""
    match = re.fullmatch(r"(\d{1,18}(?:\.\d{1,18})?) *(s|ms|us|ns|)", text.strip())
    if not match:
        raise UsageError(f"'{text}' is no time; write 1.5ms, 200us, 7s or 1200 (ns)")
    return float(match[1]) * NS[match[2]]
