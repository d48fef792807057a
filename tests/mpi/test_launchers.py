# SPDX-License-Identifier: BSD-3-Clause
"""What an earlier job left behind must not end a later one."""

import os
import shutil
import socket
import tempfile
from pathlib import Path

import pytest
from rig.mpis import OPENMPI, run_job

# Leaves what a killed launcher of Open MPI 5 leaves in $1, at this shell's process id, which the
# launcher then takes over.
AFTER_ONE_OF_THE_SAME_ID = """
left="$1/ompi.$$"; mkdir "$left" && touch "$left/pmix.$2.tool.$$" && echo "$left" && shift 2
exec "$@"
"""


@pytest.mark.parametrize("shared", [False, True], ids=["own directory", "shared directory"])
def test_leftovers_of_a_killed_launcher(shared: bool) -> None:
    everybodys = tempfile.gettempdir()
    where = {"TMPDIR": everybodys} if shared else {}
    words = ["sh", "-c", AFTER_ONE_OF_THE_SAME_ID, "sh", everybodys, socket.gethostname()]
    words += OPENMPI.launch(2, ["true"])
    result = run_job(words, os.environ | OPENMPI.environment | where, 60)
    shutil.rmtree(result.stdout.split()[0], ignore_errors=True)
    assert ("listener thread failed to start" in result.stdout) == shared, result.stdout
    assert (result.returncode != 0) == shared


@pytest.mark.parametrize("turn", ["first", "second"])
def test_no_test_sees_temporary_files_of_another(turn: str) -> None:
    own = Path(os.environ["TMPDIR"])
    assert not list(own.iterdir())
    (own / turn).touch()
