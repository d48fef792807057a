# SPDX-License-Identifier: BSD-3-Clause
"""`tutti doctor --hosts` with a stand-in launcher, whose hosts do as the tests say."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
import tutti as package
from machines import CHECKS, EXAMPLE, MACHINE, WAYS, tell
from tutti import hosts, mpi
from tutti.arguments import Host

VERSION = package.version()
# Runs the words for a host in the shell script of that host.
LAUNCHER = """#!/bin/sh
here=${0%/bin/*}
[ "$1" = --version ] && exec cat "$here/banner"
for word; do
    case $before in -hosts|--host) host=${word%:1} ;; esac
    before=$word
done
printf '%s\\n' "$@" >"$here/words-$host"
while [ "$1" != sh ]; do shift; done
. "$here/host-$host"
"""
FINE = 'exec "$@"\n'


class Hosts:
    """An MPI whose launcher reaches made-up hosts."""

    def __init__(self, stand_in, home, kind: str) -> None:
        self.mpi = stand_in(kind)
        self.home = home
        Path(self.mpi.launcher).write_text(LAUNCHER)

    def plays(self, **scripts: str) -> None:
        """What the hosts do with the words that they get."""
        for name, script in scripts.items():
            (self.mpi.prefix / f"host-{name}").write_text(script)

    def words(self, host: str) -> list[str]:
        return (self.mpi.prefix / f"words-{host}").read_text().splitlines()

    def said(self, counts: str, machines: str) -> list[str]:
        """The lines that are the same everywhere, up to what the tests change."""
        library = f"{self.home}/lib/libtutti.so"
        checks = CHECKS.format(library=library, launcher=self.mpi.launcher)
        return f"{counts}\n{machines}\n{checks}".splitlines()


@pytest.fixture
def mpich(stand_in, home):
    return Hosts(stand_in, home, "mpich")


@pytest.fixture
def look(tutti, home):
    def run(those: Hosts, *words: str):
        result = tutti("doctor", "--mpi", those.mpi.launcher, *words, TUTTI_HOME=str(home))
        lines = [line.rstrip() for line in result.out.splitlines()]
        return result, lines

    return run


def test_what_is_the_same_everywhere_is_said_once(look, mpich):
    mpich.plays(a=FINE, b=FINE)
    result, lines = look(mpich, "--hosts", "a,b")
    assert (result.code, result.err) == (0, "")
    counts = f"2 of 2 hosts looked at: Tutti {VERSION}, MPICH 5.0.2, 4 usable cores in all"
    expected = mpich.said(counts, f"each: {EXAMPLE}")
    expected += ["no   CMA                      denied -> allow it"]
    assert lines == [*expected, "yes  commons                  works"]


def test_what_differs_has_the_hosts_names(look, mpich, home):
    allowed = [{**WAYS[0], "available": True, "reason": "works"}, WAYS[1]]
    tell(home, {**MACHINE, "cpu": "Other CPU"}, allowed, "b")
    mpich.plays(a=FINE, b='HOST=b exec "$@"\n', c=FINE)
    result, lines = look(mpich, "--hosts", "a:2,b:3,c:2")
    assert (result.code, result.err) == (0, "")
    counts = f"3 of 3 hosts looked at: Tutti {VERSION}, MPICH 5.0.2, 6 usable cores in all"
    other = EXAMPLE.replace("Example", "Other")
    assert lines == [
        *mpich.said(counts, f"a, c: {EXAMPLE}\nb: {other}"),
        "no   CMA                      a, c: denied -> allow it",
        "yes  CMA                      b: works",
        "yes  commons                  works",
        "yes  a core for each rank     a, c: 2 ranks on 2 usable cores",
        "no   a core for each rank     b: 3 ranks on 2 usable cores -> start at most 2 there, "
        "unless ranks may share cores",
    ]


def test_of_many_hosts_few_are_named(look, mpich, home):
    tell(home, MACHINE, [{**WAYS[0], "reason": "absent"}], "b")
    free = [{**WAYS[1], "reason": f"9 MiB, {left} MiB of it free"} for left in (5, 7)]
    for host, left in zip("acdefg", [free[:1], *[free[1:]] * 5]):
        tell(home, MACHINE, [WAYS[0], *left], host)
    tell(home, MACHINE, [{**WAYS[0], "reason": "absent"}, free[1]], "b")
    mpich.plays(**{name: f'HOST={name} exec "$@"\n' for name in "abcdefg"})
    result, lines = look(mpich, "--hosts", "a,b,c,d,e,f,g")
    assert result.code == 0
    assert lines[-3:] == [
        "no   CMA                      the other 6 hosts: denied -> allow it",
        "no   CMA                      b: absent -> allow it",
        "yes  commons                  9 MiB, at least 5 MiB of it free",
    ]


TRY = "mend what `tutti run --mpi {launcher} --hosts b:1 -x 1 -- hostname` says"
INSTALL = f"install Tutti {VERSION} there, under the same path as here"
SILENT = {
    "nobody": (
        "echo 'Warning: Permanently added b' >&2\n"
        "echo '[a:00457] plm:ssh: Warning: setpgid(461,461) failed in parent' >&2\n"
        "echo '[mpiexec@a] main: error' >&2\n"
        "echo 'ssh: no route to b' >&2\nexit 255\n",
        ("cannot be reached: ssh: no route to b", TRY),
    ),
    "a launcher that prints to standard output": (
        "echo ------\necho 'A daemon failed'\nexit 1\n",
        ("cannot be reached: A daemon failed", TRY),
    ),
    "a launcher without words": (
        "exit 1\n",
        ("cannot be reached: the launcher does not say why", TRY),
    ),
    "no Python": (
        'exec "$1" "$2" "$3" /no/python\n',
        ("its Tutti does not answer: there is no /no/python", INSTALL),
    ),
    "no Tutti": (
        'exec sh -c "$3" "$4" -I -S -c "import tutti"\n',
        ("its Tutti does not answer: ModuleNotFoundError: No module named 'tutti'", INSTALL),
    ),
    "no answer": (
        'exec sh -c "$3" /bin/true\n',
        ("its Tutti does not answer: it says nothing", INSTALL),
    ),
    "half an answer": (
        """exec sh -c "$3" /bin/echo '{"tutti": '\n""",
        ('its Tutti does not answer: {"tutti":', INSTALL),
    ),
    "another version": (
        """exec sh -c "$3" /bin/echo '{"tutti": "0.0.9"}'\n""",
        (f"it has Tutti 0.0.9, and this host has {VERSION}", INSTALL),
    ),
}


@pytest.mark.parametrize("kind", SILENT)
def test_a_host_without_an_answer_is_one_line(look, mpich, kind):
    script, (problem, advice) = SILENT[kind]
    mpich.plays(a=FINE, b=script)
    result, lines = look(mpich, "--hosts", "a,b", "--", "-x", "1")
    assert (result.code, result.err) == (8, "tutti: 1 of 2 hosts not looked at: b\n")
    assert lines[0].startswith("1 of 2 hosts looked at: ") and lines[1] == f"each: {EXAMPLE}"
    assert lines[2].startswith(f"no   host                     b: {problem}")
    assert lines[2].endswith(f" -> {advice.format(launcher=mpich.mpi.launcher)}")
    assert "yes  commons                  works" in lines


def test_no_host_answers(look, mpich, tmp_path):
    file = tmp_path / "a.json"
    script, (problem, _) = SILENT["no answer"]
    mpich.plays(a=script, b=script)
    result, lines = look(mpich, "--hosts", "a,b", "--json", str(file))
    assert (result.code, result.err) == (8, "tutti: 2 of 2 hosts not looked at: a, b\n")
    assert lines[0].startswith("0 of 2 hosts looked at: ")
    assert [line.split()[2] for line in lines[1:]] == ["a:", "b:"], lines
    assert all(problem in line for line in lines[1:])
    assert [each["host"] for each in json.loads(file.read_text())["hosts"]] == ["a", "b"]


def test_another_mpi_on_a_host(look, mpich):
    banner = mpich.mpi.prefix / "banner"
    older = f"echo 'HYDRA build details: Version: 4.0.1' >{banner}\n"
    mpich.plays(b=older + FINE)
    _, lines = look(mpich, "--hosts", "b")
    where = f"{mpich.mpi.launcher}, libmpi.so.12"
    advice = "install MPICH 5.0.2 there under the same path, as on this host"
    assert f"no   MPI                      MPICH 4.0.1 at {where} -> {advice}" in lines


def test_no_mpi_on_a_host(look, mpich):
    mpich.plays(b=f"rm {mpich.mpi.launcher}\n" + FINE)
    _, lines = look(mpich, "--hosts", "b")
    assert any(f"{mpich.mpi.launcher} is neither an MPI launcher nor" in line for line in lines)


def test_a_host_that_takes_too_long(mpich, monkeypatch, tmp_path):
    monkeypatch.setattr(hosts, "LIMIT_S", 0.2)
    late = tmp_path / "late"
    late.touch()
    mpich.plays(a=f"exec tail -f {late}\n")
    found = mpi.recognise(Path(mpich.mpi.launcher))
    answers = hosts.look(found, [Host("a", 0)], [], allow_root=False)
    (problem,) = (answer.problem for answer in answers)
    assert problem.startswith("cannot be reached: no answer within 0.2 s: ")
    assert not any(str(tmp_path) in words for words in running())


def running() -> list[str]:
    """The command lines of all processes."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(file.read_bytes().decode(errors="replace"))
    return found


@pytest.mark.parametrize(
    ("kind", "added"),
    [
        ("openmpi4", ["-x", "TUTTI_HOME={home}", "--host", "b:1", "--bind-to", "none", "--its"]),
        ("openmpi5", ["-x", "TUTTI_HOME={home}", "--host", "b:1", "--bind-to", "none", "--its"]),
        ("mpich", ["-hosts", "b:1", "--its"]),
        ("intel", ["-ppn", "1", "-hosts", "b", "--its"]),
    ],
)
def test_the_launchers_words(look, stand_in, home, kind, added):
    those = Hosts(stand_in, home, kind)
    those.plays(b=FINE)
    result, _ = look(those, "--hosts", "b:7", "--", "--its", "own")
    assert (result.code, result.err) == (0, "")
    words = those.words("b")
    at = words.index("-n")
    expected = [*(word.format(home=home) for word in added), "own"]
    assert words[at - len(expected) : at + 4] == [*expected, "-n", "1", "sh", "-c"]
    assert words[-5:] == ["doctor", "--json", "-", "--mpi", those.mpi.launcher]
    assert (kind == "intel") == ("I_MPI_PIN" in words)


@pytest.mark.parametrize(
    ("content", "ranks"),
    [
        ("a\n# all\n\nb  # the last\n", None),
        ("a:3\nb:1\n", (3, 1)),
        ("a slots=2 max_slots=4\nb slots = 1\na\n a slots=1", (3, 1)),
    ],
)
def test_a_file_of_hosts(look, mpich, tmp_path, content, ranks):
    file = tmp_path / "hosts"
    file.write_text(content)
    mpich.plays(a=FINE, b=FINE)
    result, lines = look(mpich, "--hostfile", str(file))
    assert (result.code, result.err) == (0, "")
    assert lines[0].startswith("2 of 2 hosts looked at: ")
    assert any("a core for each rank" in line for line in lines) == bool(ranks)
    for name, count in zip("ab", ranks or ()):
        assert any(f"{name}: {count} rank" in line for line in lines)


def test_json_of_hosts(look, mpich):
    mpich.plays(a="echo a greeting\n" + FINE, b="exit 1\n")
    result, _ = look(mpich, "--hosts", "a,b", "--json", "-")
    said = json.loads(result.out)
    assert (said["tutti"], said["mpi"], result.code) == (VERSION, "MPICH 5.0.2", 8)
    a, b = said["hosts"]
    assert (a["host"], a["machine"]) == ("a", MACHINE)
    assert (b["host"], b["problem"].split(":")[0]) == ("b", "cannot be reached")
    result, _ = look(mpich, "--hosts", "a", "--json", "said.json")
    assert result.out.startswith("1 of 1 host looked at: ")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["a"], "`tutti doctor` takes no 'a' without --hosts or --hostfile"),
        (["--hosts", "a", "b"], "'b' is no option of the launcher; hosts are separated by commas"),
        (["--hosts", "a,,b"], "--hosts must be names of hosts, such as a,b or a:2,b:2"),
        (["--hosts", "a:1,b"], "--hosts must have a number of ranks for each host"),
        (["--hosts", "a", "--hostfile", "f"], "--hosts and --hostfile say the same"),
        (["--hostfile", "f"], "f cannot be read as a file of hosts: No such file or directory"),
        (["--hostfile", "/dev/null"], "/dev/null names no hosts: write one a line"),
        (["--json", "/no/file"], "/no/file cannot be written: there is no directory /no"),
    ],
)
def test_bad_input(tutti, words, complaint):
    result = tutti("doctor", *words)
    assert result.code == 2
    assert result.err.startswith(f"tutti: {complaint}")


def test_a_file_with_something_else(tutti, tmp_path):
    (tmp_path / "hosts").write_text("a\nb:many\n")
    result = tutti("doctor", "--hostfile", str(tmp_path / "hosts"))
    assert result.code == 2
    assert "'b:many' is no host, such as a, a:2 or a slots=2" in result.err
