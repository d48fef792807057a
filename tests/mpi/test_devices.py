# SPDX-License-Identifier: BSD-3-Clause
"""Buffers in the memory of GPUs: stand-ins for their runtimes, and for an MPI that knows them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from rig.mpis import LIBRARY, MAIN, PROGRAMS, Mpi, built

DEV = Path("/dev")
RUNTIMES = {
    "CUDA": "libcuda.so.1",
    "HIP5": "libamdhip64.so.5",
    "HIP6": "libamdhip64.so.6",
    "ZE": "libze_loader.so.1",
}
NONBLOCKING = {"Ibcast", "Iallreduce", "Igatherv", "Iallgather", "Ialltoall"}


PCI = Path("/proc/bus/pci/devices")


def may_have_a_gpu() -> bool:
    """As src/mpi/devices_runtimes.h tells, in short."""
    vendors = [line.split()[1][:4] for line in PCI.read_text().splitlines()] if PCI.exists() else []
    files = [each for name in ("nv[!mr]", "kfd", "dxg") for each in DEV.glob(f"{name}*")]
    return "10de" in vendors or "1002" in vendors or bool(files)


def library(path: Path, *words: str) -> Path:
    source = Path(__file__).with_name("gpu.cc")

    def compile_it(library: Path) -> None:
        command = ["g++", "-O1", "-g1", "-std=c++17", "-shared", "-fPIC", "-o", str(library)]
        subprocess.run([*command, *words], check=True)

    return built(path, [source, source.with_suffix(".h")], compile_it)


def runtime(name: str) -> Path:
    source = str(Path(__file__).with_name("gpu.cc"))
    return library(PROGRAMS / "gpu" / name.lower() / RUNTIMES[name], f"-DGPU_{name}", source)


def run(
    mpi: Mpi, ranks: int, when: str, name: str, tmp_path: Path, driver: Path | None = None
) -> tuple[dict, dict]:
    """What became of each collective, and the runtime's copies for each kind of memory.

    The stand-ins have no device, so that it takes TUTTI_GPUS=1, or a `driver` of Level Zero.
    """
    report = tmp_path / "report.json"
    player = mpi.compile("gpu_mpi.cc", "-shared", "-fPIC", "-Wl,--no-as-needed")
    options = {"LD_PRELOAD": f"{LIBRARY}:{player}", "TUTTI_REPORT": str(report)}
    if driver is None:
        options["TUTTI_GPUS"] = "1"
    command = [str(mpi.compile("devices.cc")), when, str(runtime(name))]
    if driver is not None:  # beside a loader that was there from the start
        options["LD_PRELOAD"] += f":{runtime(name)}"
        command.append(str(driver))
    result = mpi.run(ranks, command, options)
    assert result.returncode == 0 and "devices: 0 wrong" in result.stdout, result.stdout[-3000:]
    copies: dict[str, int] = {}
    for kind, count in re.findall(r"^(.+) copies (\d+)$", result.stdout, re.MULTILINE):
        copies[kind] = copies.get(kind, 0) + int(count)
    found = json.loads(report.read_text())
    return {row["collective"]: row for row in found["calls"]} | {"notes": found["notes"]}, copies


def has_a_runtime(notes: list[str]) -> bool:
    return any("a runtime of GPUs is loaded" in note for note in notes)


def goes_to_the_mpi(
    mpi: Mpi, ranks: int, when: str, name: str, tmp_path: Path, driver: Path | None = None
) -> None:
    calls, copies = run(mpi, ranks, when, name, tmp_path, driver)
    assert has_a_runtime(calls.pop("notes"))
    assert len(calls) == 17 + len(NONBLOCKING)
    for collective, row in calls.items():
        assert row["taken"] > 0
        left = 0 if collective == "Barrier" or collective in NONBLOCKING else row["left"]
        assert row["left"] == left and (left == 0 or left >= 6)
        assert row["reasons"] == ({"buffer in device memory": left} if left else {})
    assert set(copies.values()) == {0} and len(copies) == 6


def passes_through_the_host(
    mpi: Mpi, ranks: int, when: str, name: str, tmp_path: Path, driver: Path | None = None
) -> None:
    calls, copies = run(mpi, ranks, when, name, tmp_path, driver)
    assert any("device memory" in note for note in calls.pop("notes"))
    assert all(row["left"] == 0 for row in calls.values())
    for kind, count in copies.items():
        assert (count > 0) == (kind not in ("managed", "pinned")), kind


# One runtime on each MPI, and all on one.
CASES = [(mpi, "CUDA") for mpi in MAIN] + [(MAIN[0], name) for name in RUNTIMES][1:]
every_case = pytest.mark.parametrize(
    ("mpi", "name"), CASES, ids=[f"{mpi.name}-{name}" for mpi, name in CASES]
)


@every_case
def test_device_memory_goes_to_the_mpi(mpi: Mpi, name: str, tmp_path) -> None:
    goes_to_the_mpi(mpi, 2, "first", name, tmp_path)


@every_case
def test_a_runtime_that_comes_late(mpi: Mpi, name: str, tmp_path) -> None:
    passes_through_the_host(mpi, 2, "late", name, tmp_path)


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_one_rank_with_a_device(mpi: Mpi, tmp_path) -> None:
    goes_to_the_mpi(mpi, 3, "first-one", "CUDA", tmp_path)
    passes_through_the_host(mpi, 3, "late-one", "CUDA", tmp_path)


def test_a_driver_of_level_zero_is_a_device(tmp_path) -> None:
    driver = library(PROGRAMS / "gpu" / "libze_intel_gpu.so.1", "-xc++", "/dev/null")
    goes_to_the_mpi(MAIN[0], 2, "first", "ZE", tmp_path, driver)
    passes_through_the_host(MAIN[0], 2, "late", "ZE", tmp_path, driver)


@pytest.mark.skipif(may_have_a_gpu(), reason="this machine may have a GPU")
@pytest.mark.parametrize("name", ["CUDA", "HIP6", "ZE"])
@pytest.mark.parametrize("gpus", ["auto", "1", "0"])
def test_a_runtime_without_a_device_costs_nothing(gpus: str, name: str, tmp_path) -> None:
    """MPIs are linked with runtimes on machines that have no GPU."""
    report = tmp_path / "report.json"
    options = {
        "LD_PRELOAD": f"{LIBRARY}:{runtime(name)}",
        "TUTTI_REPORT": str(report),
        "TUTTI_GPUS": gpus,
        "TUTTI_COMMONS_PRIVATE": "1",
    }
    result = MAIN[0].run(2, [str(MAIN[0].compile("reused.cc"))], options)
    assert (result.returncode, result.stdout) == (0, "reused: 0 wrong\n")
    found = json.loads(report.read_text())
    assert has_a_runtime(found["notes"]) == (gpus == "1")
    moved = found["ways"]["commons"]  # pages of a device's buffers would stay private
    assert (moved == 0) == (gpus == "1")
