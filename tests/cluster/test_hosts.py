# SPDX-License-Identifier: BSD-3-Clause
"""The hosts have what hosts have, and nothing of them stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rig import ROOT
from rig.cluster import NAMES, Cluster, Result
from rig.launchers import STAND_IN

PROGRAM = [sys.executable, str(ROOT / "scripts/cluster.py")]


def shell(cluster: Cluster, host: int, line: str, limit_s: float = 60) -> Result:
    return cluster.run_on(host, ["sh", "-c", line], os.environ, limit_s)


def running(mark: str) -> bool:
    """Whether some process of this machine has `mark` in its command line."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in entry.read_bytes():
                return True
        except OSError:
            pass
    return False


def test_own_namespaces(cluster: Cluster) -> None:
    kinds = "net uts ipc mnt pid"
    line = f"for kind in {kinds}; do readlink /proc/self/ns/$kind; done"
    seen = [shell(cluster, host, line).output.split() for host in range(4)]
    seen.append(subprocess.run(["sh", "-c", line], capture_output=True, text=True).stdout.split())
    assert all(len(set(kind)) == 5 for kind in zip(*seen)), seen
    assert [shell(cluster, host, "uname -n").output.strip() for host in range(4)] == [*NAMES]


def test_own_shared_memory(cluster: Cluster) -> None:
    assert shell(cluster, 0, "touch /dev/shm/mine && ls /dev/shm").output == "mine\n"
    assert shell(cluster, 1, "ls /dev/shm").output == ""
    assert not Path("/dev/shm/mine").exists()
    shell(cluster, 0, "rm /dev/shm/mine")


@pytest.mark.parametrize("name", NAMES)
def test_names_and_network(cluster: Cluster, name: str) -> None:
    serve = (
        "import socket; s = socket.create_server(('', 7777)); print('up', flush=True); s.accept()"
    )
    call = f"import socket; socket.create_connection(('{name}', 7777))"
    python = sys.executable
    line = f'{STAND_IN} {name} "exec {python} -c \\"{serve}\\"" | (read up && {python} -c "{call}")'
    result = shell(cluster, 0, line)
    assert (result.code, result.output) == (0, "")


def test_stand_in_ssh(cluster: Cluster) -> None:
    line = f"LOST=1 {STAND_IN} -x -o A=b -l me tutti-c 'uname -n; echo $0 \"$LOST\"; cat; exit 7'"
    result = shell(cluster, 1, f"echo said | {line}")
    assert (result.code, result.output) == (7, "tutti-c\nsh \nsaid\n")
    assert shell(cluster, 1, f"{STAND_IN} elsewhere true").code == 255


def test_orphans_are_reaped(cluster: Cluster) -> None:
    line = "(sleep 0.1 & echo $! >/run/orphan); while [ -e /proc/$(cat /run/orphan) ]; do :; done"
    assert shell(cluster, 1, line, limit_s=10).code == 0


def test_time_limit(cluster: Cluster) -> None:
    mark = f"9{os.getpid()}"
    result = shell(
        cluster, 0, f"{STAND_IN} tutti-b 'sleep {mark} & sleep {mark}' & sleep {mark}", 1
    )
    assert result.code is None
    assert not running(mark)


def test_nothing_outlives_a_run(cluster: Cluster) -> None:
    mark = f"8{os.getpid()}"
    result = shell(cluster, 0, f"{STAND_IN} tutti-b 'setsid sleep {mark} >&- 2>&- &'")
    assert result.code == 0
    assert not running(mark)


def children(process: int) -> list[int]:
    return list(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGINT])
def test_nothing_outlives_the_rig(cluster: Cluster, way: int) -> None:
    mark = f"7{way}{os.getpid()}"
    command = ["sh", "-c", f"echo runs && exec sleep {mark}"]
    words = [*PROGRAM, "--hosts", "2", "--per-host", "1", "--mpi", "mpich", "--", *command]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as rig:
        assert rig.stdout and rig.stdout.readline() == b"runs\n"
        (unshare,) = children(rig.pid)
        (hosts,) = children(unshare)
        rig.send_signal(way)
    end = time.monotonic() + 10
    while running(mark) or any(Path(f"/proc/{pid}").exists() for pid in (unshare, hosts)):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_machine_that_lets_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is missing is in one sentence."""
    words = [*PROGRAM, "--", "true"]
    refusing = tmp_path / "unshare"
    refusing.write_text("#!/bin/sh\necho unshare failed: Operation not permitted >&2; exit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    result = subprocess.run(words, capture_output=True, text=True)
    said = "this machine lets this user make no hosts: unshare failed: Operation not permitted"
    assert (result.returncode, result.stderr) == (1, f"cluster.py: {said}\n")
    monkeypatch.setenv("PATH", "")
    result = subprocess.run(words, capture_output=True, text=True)
    said = "there is no unshare (Debian's package util-linux)"
    assert (result.returncode, result.stderr) == (1, f"cluster.py: {said}\n")
