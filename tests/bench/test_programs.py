# SPDX-License-Identifier: BSD-3-Clause
"""What the demo reads from the programs it runs."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest
from demonstration import plot
from demonstration.measure import Row
from records.resident import Memory
from rig.examples import parse_values, seconds
from rig.imb import IMB_SIZES, median_times, parse_imb
from rig.text import size_text, time_text

IMB = """\
# Benchmarking Bcast
# #processes = 2
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8         1000         0.22         0.29         0.25
      4194304          100      3075.09      3186.71      3130.90

# Benchmarking Allreduce
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8         1000         0.40         0.41         0.40
      4194304 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over;

# Benchmarking Barrier
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         0.36         0.37         0.36
"""


def test_parse_imb() -> None:
    rows = []
    times = parse_imb(iter(IMB.splitlines()), lambda: rows.append(1))
    assert times == {("Bcast", 8): 0.29, ("Bcast", 4 << 20): 3186.71, ("Allreduce", 8): 0.41,
                     ("Barrier", 0): 0.37}  # fmt: skip
    assert len(rows) == 4


def test_median_times() -> None:
    assert median_times([{("Bcast", 8): us} for us in (3.0, 1.0, 2.0)]) == {("Bcast", 8): 2.0}


def test_parse_values() -> None:
    lines = ["longest shortest path 846412", "in Bcast 0.050 s to 0.625 s", "time 1.2 s", "noise"]
    values = parse_values(iter(lines))
    assert values["longest shortest path"] == "846412"
    assert seconds(values["in Bcast"]) == 0.05 and len(values) == 3


@pytest.mark.parametrize(
    ("us", "text"),
    [(0.0037, "3.7 ns"), (0.25, "0.25 µs"), (12.34, "12.3 µs"), (123.4, "123 µs"),
     (1234.0, "1.23 ms"), (1.18e6, "1.18 s")],
)  # fmt: skip
def test_time_text(us, text) -> None:
    assert time_text(us) == text


def test_size_text() -> None:
    assert [size_text(n) for n in (8, 1024, 4 << 20, 1000)] == ["8 B", "1 KiB", "4 MiB", "1000 B"]


def test_plot_is_drawn(tmp_path) -> None:
    rows = [Row(name, size, 10 + size / 100, 5 + size / 500, 1 + size / 1000)
            for name in ("Bcast", "Reduce", "Allreduce") for size in IMB_SIZES]  # fmt: skip
    path = tmp_path / "demo.png"
    plot.draw([*rows, Row("Barrier", 0, 0.3, 0.1, 0.05)], [Row("asp: Bcast", 0, 9, 3, None)], path)
    assert path.read_bytes()[1:4] == b"PNG"


def test_files_count_once_and_whole() -> None:
    me = Path("/proc/self")
    before = Memory()
    before.add(me)
    descriptor = os.memfd_create("tutti-segment")
    try:
        os.posix_fallocate(descriptor, 0, 8 << 20)
        with mmap.mmap(descriptor, 8 << 20, access=mmap.ACCESS_READ) as mapping:
            assert mapping[0] == 0  # one of the 2048 pages that exist
            twice = Memory()
            twice.add(me)
            twice.add(me)
        assert list(twice.files().values()) == [8 << 20]
        assert twice.segments == set(twice.files())
        assert twice.others < 2 * before.others + (4 << 20)
    finally:
        os.close(descriptor)


def test_a_memfd_without_descriptor_counts_what_is_mapped() -> None:
    descriptor = os.memfd_create("tutti-segment")
    os.truncate(descriptor, 64 << 20)
    with mmap.mmap(descriptor, 64 << 20) as mapping:
        os.close(descriptor)
        mapping[: 1 << 20] = b"x" * (1 << 20)
        # mmap keeps a descriptor of its own: this one is looked at without.
        memory = Memory()
        memory.add(Path("/proc/self"))
        memory.whole.clear()
    assert list(memory.files().values()) == [1 << 20]
