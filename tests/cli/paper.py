# SPDX-License-Identifier: BSD-3-Clause
"""What Denis et al. 2019 print, for the tests that compare with it."""

from __future__ import annotations


def best_levels(ranks: int) -> int:
    """The best number of levels by the model, on 64 cores (section 6.2)."""
    return 0 if ranks <= 51 else 1 if ranks <= 57 else 2 if ranks <= 61 else 3
