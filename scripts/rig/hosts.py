# SPDX-License-Identifier: BSD-3-Clause
"""The hosts themselves: process 1 of the rig's own namespaces, started by rig/cluster.py.

It makes the hosts and runs what it is asked to: by rig/cluster.py through the socket at its
standard input, by the hosts' stand_in_ssh through a socket in the file system. When the former
ends, however it does, that standard input ends. So does this process then, and the kernel ends all
that is in its namespaces, and them.

    hosts.py RATE NAME...

RATE is what each host's link carries in each direction, in tc's words ("1gbit"), or "".
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INTERFACE = "eth0"
NETWORK = "10.77.0.{}"
# In /run, as every machine has it; the rig mounts its own.
SOCKET = "/run/tutti-cluster"
TMPDIR = "/run/tmp"
MESSAGE_BYTES = 1 << 20
# What a login by ssh has. It knows nothing of the variables at the other end.
LOGIN = {
    "HOME": os.environ.get("HOME", "/"),
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "SHELL": "/bin/sh",
    "TMPDIR": TMPDIR,
}

# Makes the namespaces of host $1 what a host has. It prints its process id as the rig counts,
# before it sees a /proc where it is 1. Orphans are reaped because it ignores SIGCHLD.
HOST = f"""
set -e
read -r pid _ </proc/self/stat
mount -t proc proc /proc
mount --rbind /sys /run/sys
mount -t sysfs sysfs /sys  # with this host's interfaces, and the cgroups as they were
mount --rbind /run/sys/fs/cgroup /sys/fs/cgroup
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs {TMPDIR}
mount --bind /run/hosts /etc/hosts
echo "$1" >/run/"$1"
[ ! -e /etc/hostname ] || mount --bind /run/"$1" /etc/hostname
hostname "$1"
ip link set lo up
echo "$pid"
exec >/dev/null
exec env --ignore-signal=CHLD sleep infinity  # dash's own trap does not outlast its exec
"""
# Not nsenter --wd, which takes the directory as the rig sees it.
IN_DIRECTORY = ["sh", "-c", 'cd "$0" && exec "$@"']


@dataclass
class Host:
    name: str
    maker: subprocess.Popen[str]
    pid: int

    def enter(self, directory: str, words: list[str]) -> list[str]:
        namespaces = ["--net", "--uts", "--ipc", "--mount", "--pid"]
        return ["nsenter", f"--target={self.pid}", *namespaces, *IN_DIRECTORY, directory, *words]


def say(*words: str) -> None:
    subprocess.run(words, check=True)


def limit(rate: str) -> list[str]:
    """How an interface sends no more than that. What waits is queued, and none is dropped."""
    return ["root", "tbf", "rate", rate, "burst", "128kb", "limit", "64mb"]


def make_host(name: str, address: str, rate: str) -> Host:
    namespaces = ["--net", "--uts", "--ipc", "--mount", "--pid", "--fork"]
    words = ["unshare", *namespaces, "sh", "-c", HOST, "sh", name]
    maker = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert maker.stdout
    line = maker.stdout.readline()
    if not line:
        sys.exit(1)  # the shell has said why
    host = Host(name, maker, int(line))
    peer = ["peer", "name", INTERFACE, "netns", str(host.pid)]
    say("ip", "link", "add", name, "type", "veth", *peer)
    say("ip", "link", "set", name, "master", "bridge", "up")
    say(*host.enter("/", ["ip", "addr", "add", f"{address}/24", "dev", INTERFACE]))
    say(*host.enter("/", ["ip", "link", "set", INTERFACE, "up"]))
    if rate:
        say("tc", "qdisc", "add", "dev", name, *limit(rate))
        say(*host.enter("/", ["tc", "qdisc", "add", "dev", INTERFACE, *limit(rate)]))
    return host


def make_hosts(rate: str, names: list[str]) -> dict[str, Host]:
    say("mount", "-t", "tmpfs", "tmpfs", "/run")
    for folder in (TMPDIR, "/run/sys"):
        Path(folder).mkdir()
    addresses = {name: NETWORK.format(number) for number, name in enumerate(names, 1)}
    lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in addresses.items())]
    Path("/run/hosts").write_text("\n".join(lines) + "\n")
    say("ip", "link", "add", "bridge", "type", "bridge")
    say("ip", "link", "set", "bridge", "up")
    return {name: make_host(name, address, rate) for name, address in addresses.items()}


def others(spared: set[int]) -> list[int]:
    """The processes that run on the hosts; none of them has ended and waits to be reaped."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) not in spared:
            with contextlib.suppress(OSError):
                if (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                    found.append(int(entry.name))
    return found


def sweep(hosts: dict[str, Host]) -> None:
    """Ends what a run has left on the hosts."""
    spared = {os.getpid(), *(pid for host in hosts.values() for pid in (host.pid, host.maker.pid))}
    while running := others(spared):
        for pid in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def start(
    hosts: dict[str, Host], request: dict[str, Any], files: list[int]
) -> subprocess.Popen[bytes]:
    words = ["sh", "-c", f"echo no host {request['host']} >&2; exit 255"]
    if request["host"] in hosts:
        words = hosts[request["host"]].enter(request["directory"], request["words"])
    stdin, stdout, stderr = files
    job = subprocess.Popen(
        words,
        env=request["environment"],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        # Not a session: Linux would take each host for a group of its own (autogroup), and starve
        # one for seconds where ranks of another yield much.
        process_group=0,
    )
    for file in files:
        os.close(file)
    return job


def serve_ssh(hosts: dict[str, Host], connection: socket.socket) -> None:
    with connection:
        message, files, _, _ = socket.recv_fds(connection, MESSAGE_BYTES, 3)
        if message:
            login = {"directory": LOGIN["HOME"], "environment": LOGIN}
            code = start(hosts, {**json.loads(message), **login}, files).wait()
            with contextlib.suppress(OSError):  # who asked may be gone
                connection.send(json.dumps(code).encode())


def serve_all_ssh(hosts: dict[str, Host]) -> None:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(SOCKET)
    server.listen()
    while True:
        connection, _ = server.accept()
        threading.Thread(target=serve_ssh, args=(hosts, connection), daemon=True).start()


def serve_rig(hosts: dict[str, Host], control: socket.socket) -> None:
    """Answers each request by the exit code, or null after its time limit, until there are none."""
    while True:
        message, files, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 3)
        if not message:
            return
        request = json.loads(message)
        job = start(hosts, request, files)
        over = os.pidfd_open(job.pid)
        ready, _, _ = select.select([over, control.fileno()], [], [], request["limit_s"])
        os.close(over)
        if control.fileno() in ready:  # rig/cluster.py has ended
            return
        code = job.wait() if ready else None
        sweep(hosts)
        control.send(json.dumps(code).encode())


def main() -> None:
    control = socket.socket(fileno=os.dup(0))
    hosts = make_hosts(sys.argv[1], sys.argv[2:])
    threading.Thread(target=serve_all_ssh, args=(hosts,), daemon=True).start()
    control.send(b"ready")
    serve_rig(hosts, control)


if __name__ == "__main__":
    main()
