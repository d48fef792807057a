# SPDX-License-Identifier: BSD-3-Clause
"""The progress bar of `tutti bench`, on standard error, gone when the work is done."""

from __future__ import annotations

from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tutti.reporters.text import console


class Bar:
    """A bar for each collective, from its first event on."""

    def __init__(self) -> None:
        out = console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._progress = Progress(
            *columns,
            TimeRemainingColumn(),
            console=out,
            transient=True,
            disable=not out.is_terminal,
        )
        self._task: Any = None

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, name: str, points: int) -> None:
        self._task = self._progress.add_task(name, total=points)

    def advance(self, done: int) -> None:
        self._progress.update(self._task, completed=done)
