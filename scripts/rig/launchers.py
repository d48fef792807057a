# SPDX-License-Identifier: BSD-3-Clause
"""How each MPI's launcher starts ranks on the hosts of the rig."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.hosts import INTERFACE
from rig.mpis import Mpi

STAND_IN = str(Path(__file__).resolve().parent / "stand_in_ssh")


@dataclass(frozen=True)
class Layout:
    """How many ranks each host has. They are numbered host by host, or in turns if `cyclic`."""

    counts: tuple[int, ...]
    cyclic: bool = False

    def __post_init__(self) -> None:
        if self.cyclic and len(set(self.counts)) > 1:
            raise ValueError("ranks take turns on hosts that have equally many")

    def __str__(self) -> str:
        return "+".join(map(str, self.counts)) + (" cyclic" if self.cyclic else "")

    @classmethod
    def of(cls, text: str) -> Layout:
        """Of "3+2+1"."""
        return cls(tuple(map(int, text.split("+"))))

    def options(self) -> list[str]:
        """Of scripts/cluster.py."""
        if not self.cyclic:
            return ["--layout", "+".join(map(str, self.counts))]
        per_host = ["--hosts", str(len(self.counts)), "--per-host", str(self.counts[0])]
        return [*per_host, "--layout", "cyclic"]

    def hosts(self) -> list[int]:
        """The host of each rank."""
        blocks = [host for host, count in enumerate(self.counts) for _ in range(count)]
        if not self.cyclic:
            return blocks
        turns = [(turn, host) for host, count in enumerate(self.counts) for turn in range(count)]
        return [host for _, host in sorted(turns)]


def openmpi(mpi: Mpi, layout: Layout, names: Sequence[str]) -> list[str]:
    slots = ",".join(f"{name}:{count}" for name, count in zip(names, layout.counts))
    words = ["--host", slots, "--map-by", "node" if layout.cyclic else "slot"]
    # More ranks than cores are no mistake here.
    words += ["--bind-to", "none"]
    if mpi.name == "openmpi":
        words += ["--prtemca", "plm_ssh_agent", STAND_IN, "--prtemca", "prte_if_include", INTERFACE]
        transports = "tcp,self,sm"
    else:
        words += ["--mca", "plm_rsh_agent", STAND_IN, "--mca", "oob_tcp_if_include", INTERFACE]
        transports = "tcp,self,vader"
    words += ["--mca", "pml", "ob1", "--mca", "btl", transports]
    return [*words, "--mca", "btl_tcp_if_include", INTERFACE]


def mpich(mpi: Mpi, layout: Layout, names: Sequence[str]) -> list[str]:
    # A host without a number has one slot: the ranks take turns.
    slots = [name if layout.cyclic else f"{name}:{n}" for name, n in zip(names, layout.counts)]
    words = ["-launcher", "ssh", "-launcher-exec", STAND_IN, "-iface", INTERFACE]
    return [*words, "-hosts", ",".join(slots)]


def intel(mpi: Mpi, layout: Layout, names: Sequence[str]) -> list[str]:
    words = ["-bootstrap", "ssh", "-bootstrap-exec", STAND_IN, "-iface", INTERFACE]
    words += ["-genv", "FI_PROVIDER", "tcp", "-genv", "FI_TCP_IFACE", INTERFACE]
    # It reads no numbers of slots here, but takes a host several times.
    return [*words, "-ppn", "1", "-hosts", ",".join(names[host] for host in layout.hosts())]


def launch(mpi: Mpi, layout: Layout, names: Sequence[str], command: Sequence[str]) -> list[str]:
    """What starts `command`, on the first host."""
    family = mpi.name.removeprefix("debian-").removesuffix("-abi")
    options = {"openmpi": openmpi, "mpich": mpich, "impi": intel}[family]
    ranks = str(sum(layout.counts))
    return [mpi.mpirun, *options(mpi, layout, names), "-n", ranks, *command]
