# SPDX-License-Identifier: BSD-3-Clause
"""The bar that says what is under way, and how much is done."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


def progress_bar(console: Console, width: int, *, count: bool = False) -> Progress:
    """With so much room for what is under way; `count`: "3/12", too."""
    counted = [MofNCompleteColumn()] if count else []
    description = TextColumn(f"{{task.description:<{width}}}")
    return Progress(description, BarColumn(), *counted, TimeElapsedColumn(), console=console)


class Steps:
    """A task of so many steps in a bar."""

    def __init__(self, progress: Progress, total: int):
        self._progress = progress
        self._task = progress.add_task("", total=total)

    def say(self, what: str) -> None:
        self._progress.update(self._task, description=what)

    def done(self, steps: int = 1) -> None:
        self._progress.advance(self._task, steps)

    def log(self, line: str) -> None:
        """Above the bar, to stay."""
        self._progress.log(line)
