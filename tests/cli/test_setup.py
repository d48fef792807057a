# SPDX-License-Identifier: BSD-3-Clause
"""scripts/setup.sh and install.sh with stand-ins for what Debian has."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

# `known` has what apt-get can install, and `done` what it was asked to do.
APT_GET = """#!/bin/sh
cd "{here}"
case $* in
  "install -s "*)
    grep -qx "$3" known && exit
    echo "E: Unable to locate package $3" >&2
    exit 100 ;;
esac
echo "$*" >>done
if [ "$1" = update ]; then cp fetched index; fi
"""
INDEX = " 500 file:/packages trixie/main amd64 Packages\n"
STATUS = " 100 /var/lib/dpkg/status\n"
INSTALL = "install -y --no-install-recommends"


class Debian:
    """One whose packages are those of the text `installed`, as dpkg-query says them."""

    def __init__(self, here: Path, installed: str, known: str, user: int, index: bool) -> None:
        self.here = here
        for name, text in (
            ("dpkg-query", f"#!/bin/sh\ncat {here}/installed\n"),
            ("apt-get", APT_GET.format(here=here)),
            ("apt-cache", f"#!/bin/sh\ncat {here}/index\n"),
            ("id", f"#!/bin/sh\necho {user}\n"),
        ):
            (here / name).write_text(text)
            (here / name).chmod(0o755)
        (here / "installed").write_text(installed)
        (here / "known").write_text("".join(f"{name}\n" for name in known.split()))
        (here / "index").write_text(STATUS + INDEX * index)
        (here / "fetched").write_text(STATUS + INDEX)

    def install(self, *words: str) -> tuple[int, list[str], list[str]]:
        """The code, what was said, and what was done."""
        done = subprocess.run(
            [str(ROOT / "scripts/install.sh"), *words],
            env={**os.environ, "PATH": f"{self.here}:{os.environ['PATH']}"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
        )  # fmt: skip
        log = self.here / "done"
        return (
            done.returncode,
            done.stdout.splitlines(),
            log.read_text().splitlines() if log.exists() else [],
        )


@pytest.fixture
def debian(tmp_path):
    def make(installed: str, known: str = "", user: int = 0, index: bool = True) -> Debian:
        return Debian(tmp_path, installed, known, user, index)

    return make


def test_packages_on_hold_and_those_that_stand_for_others(debian):
    there = debian(
        "ii cmake, \nhi mpich, mpi-default, x (= 1)\nii lib4t64, y, lib4 (= 2.16-1), z\n"
    )
    assert there.install("cmake", "mpich", "--if-known", "lib4") == (0, [], [])


def test_packages_that_were_removed(debian):
    code, _, done = debian("rc cmake, lib4\n").install("cmake", "lib4")
    assert (code, done[-1]) == (0, f"{INSTALL} cmake lib4 -q")


def test_what_the_distribution_does_not_have(debian):
    there = debian("ii cmake, \n", known="mpich")
    code, said, done = there.install("cmake", "--if-known", "clang-15", "mpich", "mimalloc")
    assert code == 0
    assert said == [
        "setup: this distribution has no clang-15 mimalloc: what needs them is skipped, or says so",
        "setup: installing Debian packages: mpich",
    ]
    assert done == ["update -q", f"{INSTALL} mpich -q"]


def test_nothing_is_fetched_for_what_the_distribution_does_not_have(debian):
    code, said, done = debian("ii cmake, \n").install("cmake", "--if-known", "clang-15")
    assert (code, len(said), done) == (0, 1, [])


def test_users_are_told_what_they_can_install(debian):
    there = debian("", known="cmake mpich", user=1000)
    code, said, done = there.install("cmake", "--if-known", "clang-15", "mpich")
    assert (code, done) == (1, [])
    assert said[0].startswith("setup: this distribution has no clang-15: ")
    assert said[1:] == [
        f"setup: Debian packages are missing; please run: sudo apt-get {INSTALL} cmake mpich"
    ]


def test_an_image_without_an_index(debian):
    there = debian("", known="clang-15", index=False)
    code, said, done = there.install("--if-known", "clang-15", "mimalloc")
    assert code == 0 and "has no mimalloc: " in said[0]
    assert done == ["update -q", "update -q", f"{INSTALL} clang-15 -q"]


def test_a_user_of_an_image_without_an_index(debian):
    code, said, _ = debian("", user=1000, index=False).install("--if-known", "clang-15")
    assert code == 1 and said[-1].endswith(f"sudo apt-get {INSTALL} clang-15")


def test_where_there_is_no_debian(tmp_path):
    (tmp_path / "bash").symlink_to(str(shutil.which("bash")))
    done = subprocess.run(
        [str(ROOT / "scripts/install.sh"), "cmake", "--if-known", "mpich"],
        env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = "setup: this is no Debian: please have the equivalents of cmake mpich installed\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")


ONLY_TESTS = {"clang-15", "clang-format-15", "libtcmalloc-minimal4", "libmimalloc2.0"}


@pytest.mark.parametrize(("words", "asked"), [([], set()), (["tests"], ONLY_TESTS)])
def test_what_setup_asks_for(tmp_path, words, asked):
    scripts = tmp_path / "scripts"
    shutil.copytree(ROOT / "scripts", scripts, ignore=shutil.ignore_patterns("__pycache__"))
    (scripts / "install.sh").write_text("#!/bin/sh\necho $*\nexit 1\n")
    (tmp_path / "dpkg-query").symlink_to("/bin/true")
    (tmp_path / "apt-get").symlink_to("/bin/false")  # whatever becomes of setup.sh
    done = subprocess.run(
        [str(scripts / "setup.sh"), *words],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    needed, _, more = done.stdout.partition("--if-known")
    assert (done.returncode, done.stderr) == (1, "")
    assert {"build-essential", "cmake", "libhwloc-dev"} <= set(needed.split())
    assert not ONLY_TESTS & set(needed.split()) and ONLY_TESTS & set(more.split()) == asked


@pytest.mark.parametrize(
    ("target", "setup"),
    [
        ("build", "scripts/setup.sh"),
        ("demo", "scripts/setup.sh"),
        ("format", "scripts/setup.sh tests"),
        ("test-clang", "scripts/setup.sh tests"),
    ],
)
def test_what_targets_ask_for(target, setup):
    done = subprocess.run(
        ["make", "-n", target],
        cwd=ROOT, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[0] == setup


def test_formatting_without_clang_format(tmp_path):
    """All else is looked at, and what is not is named."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/format.sh", tmp_path / "scripts")
    for name in ("src", "tests", "bench", "examples", ".venv/bin", "bin"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("bash", "dirname", "find", "sort"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    for name in ("ruff", "python"):
        (tmp_path / ".venv/bin" / name).write_text(f'#!/usr/bin/env bash\necho {name} "$@"\n')
        (tmp_path / ".venv/bin" / name).chmod(0o755)
    done = subprocess.run(
        [str(tmp_path / "scripts/format.sh"), "--check"],
        env={"PATH": str(tmp_path / "bin")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "sources in C and C++ are left out: there is no clang-format-15",
        "ruff format --check .",
        "python scripts/gen_docs.py --check",
    ]
