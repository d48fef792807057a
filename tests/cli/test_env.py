# SPDX-License-Identifier: BSD-3-Clause
"""`tutti env`: exact output, and that each shell understands it."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest
from conftest import COMMAND


def test_for_an_intel_mpi(tutti, stand_in, library):
    mpi = stand_in("intel")
    result = tutti("env", "--mpi", str(mpi.prefix), "--shell", "sh", TUTTI_SPIN="5")
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        f"export LD_PRELOAD={shlex.quote(library)};\n"
        f"export LD_LIBRARY_PATH={mpi.prefix}/lib;\n"
        f"export I_MPI_ROOT={mpi.prefix};\n"
        "export TUTTI_SPIN=5;\n"
        "# for Intel MPI 2021.18.1; only the ranks need these variables, for instance:\n"
        f"# srun --export=ALL,LD_PRELOAD={library} ./app\n"
    )


def test_without_an_mpi(tutti, tmp_path, library):
    result = tutti("env", PATH=str(tmp_path))
    assert result.code == 0
    assert result.out.startswith(f"export LD_PRELOAD={shlex.quote(library)};\n# for any MPI; ")


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("csh", "setenv LD_PRELOAD {quoted};\nsetenv TUTTI_LOG 'a b';\n"),
        ("fish", "set -gx LD_PRELOAD '{plain}';\nset -gx TUTTI_LOG 'a b';\n"),
    ],
)
def test_other_shells(tutti, tmp_path, library, shell, line):
    expected = line.format(quoted=shlex.quote(library), plain=library)
    for how in ({"SHELL": f"/usr/bin/{shell}"}, {}):
        words = [] if how else ["--shell", shell]
        result = tutti("env", *words, PATH=str(tmp_path), TUTTI_LOG="a b", **how)
        assert (result.code, result.out) == (0, expected)


def test_the_shell_that_asks(environment, tmp_path):
    script = f'eval "$({COMMAND} env)"; echo "$LD_PRELOAD"'
    variables = {**environment, "SHELL": "/bin/tcsh", "PATH": str(tmp_path)}
    for shell in map(shutil.which, ("bash", "sh")):
        file = tmp_path / "job"
        file.write_text(f"#!{shell}\n{script}\n")
        file.chmod(0o755)
        for words in ([shell, "-c", script], [str(file)]):
            done = subprocess.run(
                words,
                env=variables,
                capture_output=True,
                text=True,
                check=True,
            )
            assert done.stdout.endswith("/libtutti.so\n"), (words, done.stderr)


@pytest.mark.parametrize("command", ['eval "$(cat)"', "eval $(cat)"])
def test_sh_can_evaluate_it(tutti, tmp_path, command):
    printed = tutti("env", PATH=str(tmp_path), TUTTI_LOG="it's").out.replace(
        "LD_PRELOAD", "LIBRARY"
    )
    script = f'{command}; echo "$LIBRARY|$TUTTI_LOG"'
    done = subprocess.run(
        [shutil.which("sh"), "-c", script],
        input=printed,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.endswith("/libtutti.so|it's\n")


def test_an_unknown_shell(tutti):
    result = tutti("env", "--shell", "zsh")
    assert (result.code, result.out) == (2, "")
    assert result.err == "tutti: --shell must be sh, csh or fish, not zsh (did you mean 'sh'?)\n"


def test_an_mpi_that_is_not_there(tutti):
    result = tutti("env", "--mpi", "/nope")
    sentence = "/nope is neither an MPI launcher nor a directory with one"
    assert (result.code, result.err) == (4, f"tutti: {sentence}\n")
