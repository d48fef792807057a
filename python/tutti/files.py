# SPDX-License-Identifier: BSD-3-Clause
"""What is there, as far as one may look: Path's own functions raise where one may not."""

from __future__ import annotations

from pathlib import Path
from typing import Callable


def exists(path: Path) -> bool:
    return _answer(path.exists)


def is_file(path: Path) -> bool:
    return _answer(path.is_file)


def is_directory(path: Path) -> bool:
    return _answer(path.is_dir)


def _answer(question: Callable[[], bool]) -> bool:
    try:
        return question()
    except OSError:
        return False
