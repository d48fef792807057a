# SPDX-License-Identifier: BSD-3-Clause
"""What the reporters share: consoles that do not wrap in files, and files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tutti.errors import UsageError

WIDE = 1000


def console(stderr: bool = False) -> Console:
    """As wide as the terminal; in a file or a pipe wide enough for every line."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else WIDE
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=not stream.isatty())


def table(*headings: str, right: int = 0) -> Table:
    """A table without lines; its last `right` columns are numbers."""
    result = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, heading in enumerate(headings):
        numeric = index >= len(headings) - right
        result.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    return result


def write_file(path: Path, content: str) -> None:
    try:
        path.write_text(content, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def plotting() -> Any:
    """matplotlib.pyplot, for files alone. A backend that the user has asked for is not looked at:
    to import matplotlib fails where there is no such backend."""
    os.environ["MPLBACKEND"] = "Agg"
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    return pyplot


def plain_axes(panel: Any, grid: str = "y") -> None:
    """Without a frame, and with faint lines behind what is drawn: along x, y or both axes."""
    panel.set_axisbelow(True)
    panel.grid(True, axis=grid, color="#dddddd", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def log_times(panel: Any) -> None:
    """A logarithmic axis of times in us, with plain numbers at 1, 2 and 5 of each decade."""
    from matplotlib import ticker

    panel.set_yscale("log")
    panel.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    panel.minorticks_off()
    panel.set_ylabel("time (us)")


def save_figure(figure: Any, path: Path) -> None:
    """Writes a figure of matplotlib in the format that the name asks for, and closes it."""
    from matplotlib import pyplot

    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:
        raise UsageError(f"{path} cannot be drawn: {error}") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        pyplot.close(figure)
