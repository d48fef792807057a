# SPDX-License-Identifier: BSD-3-Clause
"""Message sizes as people write them."""

from __future__ import annotations

import re

from tutti.errors import UsageError

SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30}
LARGEST = 1 << 34


def parse(text: str) -> list[int]:
    """``8:4M`` (every power of two from 8 B to 4 MiB), ``100``, ``8,1K,4M``; sorted, each once."""
    sizes: set[int] = set()
    for part in text.split(","):
        if ":" in part:
            sizes.update(_powers(part, text))
        else:
            sizes.add(_one(part, text))
    return sorted(sizes)


def one(option: str, text: str) -> int:
    """The value of an option that is one size: ``64K``."""
    if "," in text or ":" in text:
        raise UsageError(f"{option} {text}: must be one size, as 64K or 2M")
    return several(option, text)[0]


def several(option: str, text: str) -> list[int]:
    """The value of an option as that of --sizes, see parse()."""
    try:
        return parse(text)
    except UsageError as error:
        raise UsageError(str(error).replace("--sizes", option)) from error


def _powers(part: str, text: str) -> list[int]:
    ends = part.split(":")
    if len(ends) != 2:
        raise UsageError(f"--sizes {text}: a range is written A:B")
    low, high = (_one(end, text) for end in ends)
    powers = [1 << k for k in range(LARGEST.bit_length()) if low <= 1 << k <= high]
    if not powers:
        raise UsageError(f"--sizes {text}: there is no power of two from {ends[0]} to {ends[1]}")
    return powers


def _one(word: str, text: str) -> int:
    match = re.fullmatch(r"(\d{1,18})([KMG]?)", word.strip().upper())
    if not match:
        raise UsageError(
            f"--sizes {text}: '{word}' is no size; write 8, 64K, 4M, a list 8,1K or a range 8:4M"
        )
    size = int(match[1]) << SHIFTS[match[2]]
    if not 1 <= size <= LARGEST:
        raise UsageError(f"--sizes {text}: a size is from 1 byte to 16G")
    return size
