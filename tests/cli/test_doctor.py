# SPDX-License-Identifier: BSD-3-Clause
"""`tutti doctor`: exact output for a made-up machine, and the real one."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

MACHINE = {
    "cpu": "Example CPU",
    "kernel": "6.1",
    "packages": 1,
    "cores": 8,
    "pus": 8,
    "memory_bytes": 16 << 30,
    "numa_nodes": [{"index": i, "memory_bytes": 8 << 30, "pus": 4} for i in (0, 1)],
    "caches": [{"level": 3, "kind": "unified", "bytes": 32 << 20, "count": 1, "pus": 8}],
    "usable_pus": [0, 1],
    "usable_cores": 2,
    "cgroup": {"version": 2, "cpus": 1.5, "memory_bytes": 4 << 30},
}
WAYS = [
    {"name": "cma", "title": "CMA", "available": False, "reason": "denied", "advice": "allow it"},
    {"name": "commons", "title": "commons", "available": True, "reason": "works", "advice": "no"},
]
SAID = """\
Example CPU, 8 cores, 2 NUMA nodes, 16 GiB of memory, L3 32 MiB
yes  Tutti                    {library} can be preloaded
yes  MPI                      MPICH 5.0.2 at {launcher}, libmpi.so.12
no   all cores                2 of 8 cores usable by this process -> widen the affinity mask \
(taskset, cpuset, the batch system's request)
no   cgroup: no CPU limit     the time of 1.5 CPUs is granted -> start at most 1 ranks, or raise \
the container's CPU limit
no   cgroup: no memory limit  4 GiB may be used -> the commons counts as shared memory of the \
container: raise the limit if ranks are killed for memory
no   CMA                      denied -> allow it
yes  commons                  works
"""


@pytest.fixture
def home(tmp_path: Path, library: str) -> Path:
    """The real library beside a probe that reports a made-up machine."""
    (tmp_path / "lib").mkdir()
    shutil.copy(library, tmp_path / "lib")
    (tmp_path / "bin").mkdir()
    (tmp_path / "machine").write_text(json.dumps(MACHINE))
    (tmp_path / "memory").write_text(json.dumps(WAYS))
    probe = tmp_path / "bin" / "tutti-probe"
    probe.write_text('#!/bin/sh\nexec /bin/cat "${0%/*/*}/$1"\n')
    probe.chmod(0o755)
    return tmp_path


def test_a_made_up_machine(tutti, stand_in, home, tmp_path):
    mpi = stand_in("mpich")
    shutil.copy("/bin/true", mpi.prefix / "bin")
    result = tutti("doctor", TUTTI_HOME=str(home), PATH=f"{mpi.prefix}/bin")
    expected = SAID.format(library=f"{home}/lib/libtutti.so", launcher=mpi.launcher)
    assert (result.code, result.err) == (0, "")
    assert [line.rstrip() for line in result.out.splitlines()] == expected.splitlines()


def test_no_mpi_and_a_broken_library(tutti, home, tmp_path):
    (home / "lib" / "libtutti.so").write_text("no library")
    tools = tmp_path / "tools"
    tools.mkdir()
    shutil.copy("/bin/true", tools)
    result = tutti("doctor", TUTTI_HOME=str(home), PATH=str(tools))
    assert result.code == 0
    assert "no   Tutti                    ERROR: ld.so: object" in result.out
    assert "no   MPI                      no mpirun or mpiexec of Open MPI, MPICH or" in result.out
    assert "-> install one (Debian: `apt install openmpi-bin`" in result.out


def test_this_machine(tutti, real_mpi):
    launcher = Path(real_mpi.launcher)
    result = tutti("doctor", PATH=f"{launcher.parent}{os.pathsep}{os.environ['PATH']}")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()[1:]
    assert all(line.startswith(("yes  ", "no   ")) for line in lines)
    assert any(f"MPI                           {real_mpi.family}" in line for line in lines)
    for title in ("Tutti", "commons", "CMA", "XPMEM", "KNEM", "ptrace scope", "huge pages"):
        assert sum(line[5:].startswith(title) for line in lines) == 1


def test_a_probe_that_fails(tutti, home):
    (home / "bin" / "tutti-probe").write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    result = tutti("doctor", TUTTI_HOME=str(home))
    assert result.code == 5
    assert result.err == f"tutti: {home}/bin/tutti-probe machine failed: broken\n"
