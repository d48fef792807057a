# SPDX-License-Identifier: BSD-3-Clause
"""tutti-probe itself: valid JSON, facts that the system confirms, and nothing to load but libc."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def probe(library: str) -> str:
    return str(Path(library).parent.parent / "bin" / "tutti-probe")


def ask(probe: str, what: str, **options):
    done = subprocess.run([probe, what], capture_output=True, text=True, check=True, **options)
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_machine(probe):
    machine = ask(probe, "machine")
    assert machine["usable_pus"] == sorted(os.sched_getaffinity(0))
    assert machine["pus"] >= machine["cores"] >= machine["usable_cores"] > 0
    assert machine["kernel"] == os.uname().release
    kilobytes = int(re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())[1])
    assert machine["memory_bytes"] == pytest.approx(kilobytes * 1024, rel=0.5)  # it may grow
    assert sum(node["pus"] for node in machine["numa_nodes"]) >= machine["pus"]


def test_the_affinity_mask_counts(probe):
    first = min(os.sched_getaffinity(0))
    machine = ask(probe, "machine", preexec_fn=lambda: os.sched_setaffinity(0, {first}))
    assert (machine["usable_pus"], machine["usable_cores"]) == ([first], 1)


def test_a_made_up_topology(probe):
    made_up = {"HWLOC_SYNTHETIC": "numa:4 l3:1 core:2 pu:2", "HWLOC_THISSYSTEM": "0"}
    machine = ask(probe, "machine", env={**os.environ, **made_up})
    assert (machine["cores"], machine["pus"], len(machine["numa_nodes"])) == (8, 16, 4)
    assert [c["count"] for c in machine["caches"] if c["level"] == 3] == [4]


def test_memory(probe):
    rows = ask(probe, "memory")
    assert [row["name"] for row in rows] == [
        "page_size", "commons", "cma", "xpmem", "knem", "ptrace_scope", "huge_pages", "dev_shm",
        "membarrier", "address_space",
    ]  # fmt: skip
    for row in rows:
        assert row["reason"]
        assert row["available"] or row["advice"]
    xpmem = next(row for row in rows if row["name"] == "xpmem")
    assert xpmem["available"] == os.access("/dev/xpmem", os.R_OK | os.W_OK)


@pytest.mark.parametrize(
    ("option", "limit", "mib"),
    [
        ("-v 1048576", "RLIMIT_AS", 1024),
        ("-d 1048576", "RLIMIT_DATA", 1024),
        ("-f 2048", "RLIMIT_FSIZE", 1),  # sh counts in 512 bytes
    ],
)
def test_a_limit_on_address_space_is_seen(probe, option, limit, mib):
    limited = ["sh", "-c", f"ulimit {option}; exec {probe} memory"]
    done = subprocess.run(limited, capture_output=True, text=True, check=True)
    row = next(r for r in json.loads(done.stdout) if r["name"] == "address_space")
    assert (row["available"], row["reason"]) == (False, f"{limit} is {mib} MiB")


def test_a_wrong_word(probe):
    for words in (["machines"], ["model"], ["model", "1"], ["model", "64x"], ["model", "9" * 99]):
        done = subprocess.run([probe, *words], capture_output=True, text=True, check=False)
        usage = "usage: tutti-probe machine|memory|options|model CORES (2 to 1024)\n"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", usage)


@pytest.mark.parametrize("piece", ["bin/tutti-probe", "bin/tutti-bench", "lib/libtutti.so"])
def test_nothing_but_libc_is_needed(library, piece):
    path = Path(library).parent.parent / piece
    shown = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True)
    needed = set(re.findall(r"NEEDED.*\[([a-z]+)", shown.stdout))
    assert needed <= {"libc", "libm", "libdl", "libpthread", "librt", "ld"}
