# SPDX-License-Identifier: BSD-3-Clause
"""A cluster of 2 to 4 hosts on this machine, each a set of Linux namespaces.

    with Cluster(hosts=3) as cluster:
        result = cluster.run(OPENMPI, Layout((3, 2, 1)), ["./program"])
"""

from __future__ import annotations

import contextlib
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
from typing import IO, Any

HERE = Path(__file__).resolve().parent
STAND_IN = HERE / "stand_in_ssh"
NAMES = ("tutti-a", "tutti-b", "tutti-c", "tutti-d")
TOOLS = {"unshare": "util-linux", "nsenter": "util-linux", "mount": "mount", "ip": "iproute2"}
LIMIT_S = 120.0


class NoCluster(Exception):
    """This machine can play no hosts; one sentence says what is missing."""


@dataclass(frozen=True)
class Result:
    code: int | None  # None: it took too long
    output: str


class Cluster:
    """The hosts; they and all that runs on them vanish with this process, however it ends."""

    def __init__(self, hosts: int) -> None:
        self.names = NAMES[:hosts]

    def __enter__(self) -> Cluster:
        for tool, package in TOOLS.items():
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
                ["unshare", *options, *namespaces, sys.executable, str(HERE / "hosts.py"), *self.names],
                stdin=theirs,
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
        limit_s: float = LIMIT_S,
        files: Sequence[IO[Any] | int] | None = None,
    ) -> Result:
        """Runs `words` on a host, and ends all that they leave behind on any host."""
        request = {
            "host": self.names[host],
            "words": list(words),
            "environment": {**environment, "TMPDIR": "/run/tmp"},
            "directory": os.getcwd(),
            "limit_s": limit_s,
        }
        with Path(os.devnull).open() as nothing, tempfile.TemporaryFile() as said:
            chosen = files or (nothing, said, said)
            descriptors = [each if isinstance(each, int) else each.fileno() for each in chosen]
            socket.send_fds(self._control, [json.dumps(request).encode()], descriptors)
            code = json.loads(self._control.recv(64))
            said.seek(0)
            return Result(code, said.read().decode(errors="replace"))
