# SPDX-License-Identifier: BSD-3-Clause
"""What every test has: a directory for temporary files that no job has used before."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest

# What runs does not depend on what was measured here before, or on who else is busy now.
os.environ.setdefault("TUTTI_COSTS", "usual")


@pytest.fixture(autouse=True)
def own_temporary_directory(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """TMPDIR of each test alone, gone after it.

    A launcher of Open MPI 5 that is killed leaves ompi.PID there, and the next that gets the same
    process id can't start: "The PMIx server's listener thread failed to start".
    """
    own = tempfile.mkdtemp(prefix="tutti-test-")
    monkeypatch.setenv("TMPDIR", own)
    yield own
    shutil.rmtree(own, ignore_errors=True)
