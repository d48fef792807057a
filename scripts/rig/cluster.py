# SPDX-License-Identifier: BSD-3-Clause
"""A cluster of 2 to 4 hosts on this machine, each a set of Linux namespaces.

with Cluster(hosts=3) as cluster:
    result = cluster.run(OPENMPI, Layout((3, 2, 1)), ["./program"])
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.hosts import TMPDIR
from rig.launchers import Layout, launch
from rig.mpis import ATTEMPTS, Mpi

HERE = Path(__file__).resolve().parent
NAMES = ("tutti-a", "tutti-b", "tutti-c", "tutti-d")
TOOLS = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "mount",
    "ip": "iproute2",
    "hostname": "hostname",
}
LIMIT_S = 120.0


class NoCluster(Exception):
    """This machine can play no hosts; one sentence says what is missing."""


@dataclass(frozen=True)
class Result:
    code: int | None  # None: it took too long
    output: str


class Cluster:
    """The hosts; they and all that runs on them vanish with this process, however it ends."""

    def __init__(self, hosts: int, rate: str = "") -> None:
        """`rate`: of each host's link, such as "1gbit"; else as fast as the machine copies."""
        self.names = NAMES[:hosts]
        self.rate = rate

    def __enter__(self) -> Cluster:
        for tool, package in (TOOLS | ({"tc": "iproute2"} if self.rate else {})).items():
            if not shutil.which(tool):
                raise NoCluster(f"there is no {tool} (Debian's package {package})")
        for options in [[], ["--user", "--map-root-user"]] if os.geteuid() == 0 else [["-Ur"]]:
            if not (complaint := self._start(options)):
                return self
        raise NoCluster(f"this machine lets this user make no hosts: {complaint}")

    def __exit__(self, *_: object) -> None:
        self._control.close()
        self._init.wait()

    def _start(self, options: Sequence[str]) -> str:
        """Starts hosts.py; says why, if that fails."""
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        namespaces = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        with theirs, tempfile.TemporaryFile("w+") as complaints:
            self._init = subprocess.Popen(
                [
                    "unshare",
                    *options,
                    *namespaces,
                    sys.executable,
                    str(HERE / "hosts.py"),
                    self.rate,
                    *self.names,
                ],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                start_new_session=True,
            )
            theirs.close()
            if self._control.recv(16):
                return ""
            self.__exit__()
            complaints.seek(0)
            return (complaints.read().strip() or "nobody says why").splitlines()[-1]

    def run_on(
        self,
        host: int,
        words: Sequence[str],
        environment: Mapping[str, str],
        limit_s: float | None = LIMIT_S,
        files: Sequence[int] = (),
        directory: Path | None = None,
    ) -> Result:
        """Runs `words` on a host, and ends all that they leave behind on any host.

        `files` are its standard input, output and error, instead of nothing and the result. It
        starts in `directory`, or in that of this process.
        """
        request = {
            "host": self.names[host],
            "words": list(words),
            "environment": {**environment, "TMPDIR": TMPDIR},
            "directory": str(directory or Path.cwd()),
            "limit_s": limit_s,
        }
        with Path(os.devnull).open() as nothing, tempfile.TemporaryFile() as said:
            usual = [nothing.fileno(), said.fileno(), said.fileno()]
            socket.send_fds(self._control, [json.dumps(request).encode()], files or usual)
            if not (answer := self._control.recv(64)):
                raise RuntimeError("the cluster's hosts.py has ended")
            said.seek(0)
            return Result(json.loads(answer), said.read().decode(errors="replace"))

    def run(
        self,
        mpi: Mpi,
        layout: Layout,
        command: Sequence[str],
        variables: Mapping[str, str] | None = None,
        limit_s: float | None = LIMIT_S,
        files: Sequence[int] = (),
        directory: Path | None = None,
    ) -> Result:
        """Runs `command` on the ranks of `layout`, with `variables` set in them.

        A run that ends with the MPI's false alarm is made again, as in tests/mpi.
        """
        settings = [f"{name}={value}" for name, value in (variables or {}).items()]
        words = launch(mpi, layout, self.names, ["env", *settings, *command])
        environment = os.environ | mpi.environment
        for _ in range(ATTEMPTS):
            result = self.run_on(0, words, environment, limit_s, files, directory)
            if not mpi.is_false_alarm(result.code, result.output):
                break
        return result
