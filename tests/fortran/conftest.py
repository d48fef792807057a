# SPDX-License-Identifier: BSD-3-Clause
"""The MPIs are those of tests/mpi."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mpi"))
