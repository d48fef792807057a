# SPDX-License-Identifier: BSD-3-Clause
"""How much memory a program may hold under Tutti, and the verdicts on it."""

from __future__ import annotations

from rig.wheels import Mpi

from records.bars.points import Verdict
from records.resident import Peak

MEMORY_BAR = 1.05  # of the plain run's
SEGMENT_BAR = 1 << 20  # bytes a rank


def memory_verdicts(what: str, mpi: Mpi, plain: Peak, tutti: Peak) -> list[Verdict]:
    """Of a program's 2 ranks."""
    row = {
        "plain_bytes": plain.resident,
        "tutti_bytes": tutti.resident,
        "tutti_memfd_bytes": tutti.files,
        "segment_bytes": tutti.segment,
    }
    ratio, segment = tutti.resident / plain.resident, tutti.segment / 2
    sizes = f"{tutti.resident / 2**20:.1f} MiB, plain {plain.resident / 2**20:.1f}"
    return [
        Verdict(
            f"resident memory of {what}",
            mpi.name,
            f"at most {MEMORY_BAR}x",
            f"{ratio:.3f}x ({sizes})",
            ratio <= MEMORY_BAR,
            row,
        ),
        Verdict(
            f"node segment of {what}",
            mpi.name,
            "at most 1 MiB a rank",
            f"{segment / 2**20:.2f} MiB a rank",
            0 < segment <= SEGMENT_BAR,
            row,
        ),
    ]
