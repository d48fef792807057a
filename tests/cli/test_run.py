# SPDX-License-Identifier: BSD-3-Clause
"""`tutti run` with a stand-in launcher: the command line it builds and what it says."""

from __future__ import annotations

import os

import pytest
from tutti import job, launch

REPORT = {
    "version": 1,
    "mpi": "Open MPI v5.0.11",
    "family": "openmpi",
    "ranks": 2,
    "nodes": 1,
    "calls": [
        {
            "collective": "Allreduce",
            "seen": 10,
            "taken": 8,
            "left": 2,
            "bytes": 8388608,
            "reasons": {"user-defined operation": 2},
        },
        {"collective": "Bcast", "seen": 0, "taken": 0, "left": 0, "bytes": 0, "reasons": {}},
        {"collective": "Barrier", "seen": 3, "taken": 3, "left": 0, "bytes": 0, "reasons": {}},
    ],
    "ways": {"commons": 8388608, "cma": 0, "bounce": 0, "line": 1536},
    "notes": ["rank 1: ptrace is denied"],
}
SUMMARY = """
tutti: Open MPI 5.0.11, 2 ranks on 1 node
collective  seen  by Tutti  by the MPI  bytes
Allreduce     10         8           2  8 MiB
Barrier        3         3           0    0 B
left to the MPI: Allreduce 2x, user-defined operation
moved: 8 MiB by mapped memory, 1.5 KiB by flag lines
note: rank 1: ptrace is denied
next: `tutti doctor`
"""


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def test_open_mpi_gets_x(tutti, stand_in, library):
    mpi = stand_in("openmpi5")
    mpi.plays(report=REPORT)
    words = ["run", "--quiet", "--mpi", mpi.launcher, "-n", "1", "true", "--its", "-n", "5"]
    result = tutti(*words, TUTTI_SPIN="7", LD_PRELOAD="libm.so.6")
    assert (result.code, result.out, result.err) == (0, "", "")
    started = mpi.started()
    report = started["words"].pop(7)
    assert report.startswith("TUTTI_REPORT=") and report.endswith("/report.json")
    assert started["words"] == [
        "-x", f"LD_PRELOAD={library}:libm.so.6", "-x", f"LD_LIBRARY_PATH={mpi.prefix}/lib",
        "-x", "TUTTI_SPIN=7", "-x", "-n", "1", "true", "--its", "-n", "5",
    ]  # fmt: skip
    assert started["env"]["LD_PRELOAD"] == "libm.so.6"  # the launcher runs without Tutti


def test_mpich_gets_genv(tutti, stand_in, library):
    mpi = stand_in("mpich")
    mpi.plays(report=REPORT)
    result = tutti("run", "-q", "--mpi", str(mpi.prefix), "-np", "3", "true", TUTTI_LOG="info")
    assert (result.code, result.err) == (0, "")
    started = mpi.started()
    report = started["words"].pop(11)
    assert report.endswith("/report.json")
    assert started["words"] == [
        "-genv", "LD_PRELOAD", library, "-genv", "LD_LIBRARY_PATH", f"{mpi.prefix}/lib",
        "-genv", "TUTTI_LOG", "info", "-genv", "TUTTI_REPORT",
        "-genv", "PATH", os.environ["PATH"], "-n", "3", "true",
    ]  # fmt: skip
    assert "LD_PRELOAD" not in started["env"]


def test_intel_mpi_finds_its_own_launcher(tutti, stand_in):
    mpi = stand_in("intel")
    mpi.plays(report=REPORT)
    assert tutti("run", "-q", "--mpi", str(mpi.prefix / "bin"), "true").code == 0
    started = mpi.started()
    assert started["env"]["PATH"] == f"{mpi.prefix}/bin:{os.environ['PATH']}"
    assert started["env"]["I_MPI_ROOT"] == str(mpi.prefix)
    at = started["words"].index("I_MPI_ROOT")
    assert started["words"][at - 1 : at + 2] == ["-genv", "I_MPI_ROOT", str(mpi.prefix)]


@pytest.mark.parametrize(
    ("kind", "added"),
    [("openmpi4", ["--oversubscribe"]), ("openmpi5", ["--map-by", ":OVERSUBSCRIBE"])],
)
def test_more_ranks_than_cores(tutti, stand_in, kind, added):
    mpi = stand_in(kind)
    mpi.plays(report=REPORT)
    result = tutti("run", "--mpi", mpi.launcher, "-n", "4000", "true")
    assert mpi.started()["words"][: len(added)] == added
    assert "tutti: 4000 ranks share " in result.err
    assert result.err.split("\n")[0].endswith(f"gets {' '.join(added)}")
    tutti("run", "--mpi", mpi.launcher, "-n", "4000", "--host", "a:4000", "--", "true")
    assert not set(added) & set(mpi.started()["words"])


@pytest.mark.parametrize(
    ("kind", "added"),
    [
        ("openmpi4", ["--host", "a:3,b:2"]),
        ("openmpi5", ["--host", "a:3,b:2"]),
        ("mpich", ["-hosts", "a:3,b:2"]),
        ("intel", ["-machinefile", "{machines}"]),
    ],
)
@pytest.mark.parametrize(
    "asked", [["-n", "5", "--hosts", "a,b"], ["--hosts=a:3,b:2"], ["--hosts", "a:3,b:2", "-n", "5"]]
)
def test_hosts(tutti, stand_in, kind, added, asked):
    mpi = stand_in(kind)
    mpi.plays(report=REPORT)
    result = tutti("run", "-q", "--mpi", mpi.launcher, *asked, "true", TUTTI_NODES="1")
    assert (result.code, result.err) == (0, "")
    words = mpi.started()["words"]
    if kind == "intel":
        added = ["-machinefile", words[-4]]
        assert (mpi.prefix / "machines").read_text() == "a:3\nb:2\n"
    assert words[-len(added) - 3 :] == [*added, "-n", "5", "true"]
    # The launcher hands them to every host.
    assert "TUTTI_NODES=1" in words or words[words.index("TUTTI_NODES") - 1] == "-genv"


def test_more_ranks_on_hosts_than_a_word_holds(tutti, stand_in):
    mpi = stand_in("intel")
    mpi.plays(report=REPORT)
    names = [f"node-{at:03}.example.org" for at in range(128)]
    words = ["--hosts", ",".join(f"{name}:128" for name in names), "true"]
    result = tutti("run", "-q", "--mpi", mpi.launcher, *words)
    assert (result.code, result.err) == (0, "")
    machines = "".join(f"{name}:128\n" for name in names)
    assert (mpi.prefix / "machines").read_text() == machines


def test_hosts_of_several_programs(tutti, stand_in):
    mpi = stand_in("mpich")
    mpi.plays(report=REPORT)
    apps = ["-n", "1", "true", ":", "-n", "3", "true"]
    for hosts in ("a,b", "a:2,b:2"):
        result = tutti("run", "-q", "--mpi", mpi.launcher, "--hosts", hosts, *apps)
        assert (result.code, result.err) == (0, "")
        assert mpi.started()["words"][-len(apps) - 2 :] == ["-hosts", "a:2,b:2", *apps]


@pytest.mark.parametrize(
    ("kind", "option"), [("openmpi5", "--host"), ("openmpi4", "--host"), ("mpich", "-hosts")]
)
@pytest.mark.parametrize(
    ("content", "asked", "placed"),
    [
        ("a\n# all\n\nb  # the last\n", ["-n", "3"], "a:2,b:1"),
        ("a:3\nb:2\n", [], "a:3,b:2"),
        ("a:3\nb:2\n", ["-n", "5"], "a:3,b:2"),
        ("a slots=3 max_slots=4\nb slots=2\n", ["-n", "4"], "a:3,b:1"),
        ("a max-slots=8 slots=3\nb slots=2\n", ["-n", "4"], "a:3,b:1"),
        ("a:3\nb:2\n", ["-n", "2"], "a:2"),
        ("a:1\nb:1\na:1\n", [], "a:2,b:1"),
    ],
)
def test_a_file_of_hosts(tutti, stand_in, tmp_path, kind, option, content, asked, placed):
    mpi = stand_in(kind)
    mpi.plays(report=REPORT)
    file = tmp_path / "hosts"
    file.write_text(content)
    result = tutti("run", "-q", "--mpi", mpi.launcher, *asked, "--hostfile", str(file), "true")
    assert (result.code, result.err) == (0, "")
    words = mpi.started()["words"]
    assert words[-5:-2] == [option, placed, "-n"]
    assert int(words[-2]) == sum(int(each.split(":")[1]) for each in placed.split(","))


def test_a_file_of_hosts_for_intel_mpi(tutti, stand_in, tmp_path):
    mpi = stand_in("intel")
    mpi.plays(report=REPORT)
    (tmp_path / "hosts").write_text("a slots=3\nb slots=2\n")
    words = ["run", "-q", "--mpi", mpi.launcher, f"--hostfile={tmp_path}/hosts"]
    assert tutti(*words, "-n", "4", "true").code == 0
    assert (mpi.prefix / "machines").read_text() == "a:3\nb:1\n"


def test_more_ranks_than_cores_on_other_hosts(tutti, stand_in):
    mpi = stand_in("openmpi5")
    mpi.plays(report=REPORT)
    result = tutti("run", "-q", "--mpi", mpi.launcher, "--hosts", "a,b", "-n", "4000", "true")
    assert (result.code, result.err) == (0, "")
    assert ":OVERSUBSCRIBE" not in mpi.started()["words"]


def test_fewer_ranks_than_hosts(tutti, stand_in):
    mpi = stand_in("mpich")
    mpi.plays(report=REPORT)
    assert tutti("run", "-q", "--mpi", mpi.launcher, "--hosts", "a,b", "-n", "1", "true").code == 0
    assert mpi.started()["words"][-5:] == ["-hosts", "a:1", "-n", "1", "true"]


@pytest.mark.parametrize("kind", ["openmpi5", "mpich", "intel"])
def test_ranks_that_share_cores_because_others_communicate(tutti, stand_in, kind):
    cores = launch.usable_cores()
    if cores < 2:
        pytest.skip("one core")
    mpi = stand_in(kind)
    mpi.plays(report=REPORT)
    words = ["run", "--mpi", mpi.launcher, "-n", str(cores)]
    warned = "between them may take milliseconds; if the program sends such, set "
    assert (warned in tutti(*words, "--comm-cores", "1", "true").err) == (kind != "mpich")
    assert warned not in tutti(*words, "true").err


@pytest.mark.parametrize(
    ("kind", "given", "handed_on"),
    [
        ("openmpi5", ["-x", "LD_PRELOAD=libm.so.6"], []),
        ("openmpi4", ["--x", "LD_PRELOAD=libm.so.6"], []),
        ("mpich", ["-genv", "LD_PRELOAD", "libm.so.6"], ["-genv", "LD_PRELOAD", "{}:libm.so.6"]),
        ("intel", ["-env", "LD_PRELOAD=libm.so.6"], ["-env", "LD_PRELOAD={}:libm.so.6"]),
        ("mpich", ["-env=LD_PRELOAD=libm.so.6"], ["-env=LD_PRELOAD={}:libm.so.6"]),
        ("mpich", ["-env=LD_PRELOAD", "libm.so.6"], ["-env=LD_PRELOAD", "{}:libm.so.6"]),
        ("mpich", ["-genv", "PRELOAD", "libm.so.6"], ["-genv", "PRELOAD", "libm.so.6"]),
    ],
)
def test_the_launcher_is_told_to_preload(tutti, stand_in, library, kind, given, handed_on):
    mpi = stand_in(kind)
    mpi.plays(report=REPORT)
    result = tutti("run", "-q", "--mpi", mpi.launcher, "-n", "1", *given, "--", "true")
    assert result.code == 0
    words = mpi.started()["words"]
    expected = [word.format(library) for word in handed_on]
    assert words[len(words) - 3 - len(expected) : -3] == expected
    if kind.startswith("openmpi"):  # which takes the first value, or the last one
        preloads = [word for word in words if "LD_PRELOAD" in word]
        assert preloads == [f"LD_PRELOAD={library}:libm.so.6"]


def test_what_open_mpi_is_told_to_hand_on(tutti, stand_in, library):
    mpi = stand_in("openmpi5")
    mpi.plays(report=REPORT)
    words = ["-n", "1", "-x", "LD_PRELOAD", "--", "true"]
    assert tutti("run", "-q", "--mpi", mpi.launcher, *words, LD_PRELOAD="libm.so.6").code == 0
    preloads = [word for word in mpi.started()["words"] if "LD_PRELOAD" in word]
    assert preloads == [f"LD_PRELOAD={library}:libm.so.6"]


def test_several_programs(tutti, stand_in, library):
    apps = ["true", "-n", "9", ":", "-n", "3", "-x", "LD_PRELOAD=libm.so.6", "false", "-x", ":"]
    mpi = stand_in("openmpi5")
    mpi.plays(report=REPORT)
    assert tutti("run", "-q", "--mpi", mpi.launcher, "-n", "1", *apps, "true").code == 0
    words = mpi.started()["words"]
    added = words[words.index("-x") : words.index("-n")]
    assert added[:2] == ["-x", f"LD_PRELOAD={library}"]
    assert words[words.index("-n") :] == [
        *("-n", "1", "true", "-n", "9"),
        *(":", *added[2:], "-n", "3", "-x", f"LD_PRELOAD={library}:libm.so.6", "false", "-x"),
        *(":", *added, "true"),
    ]
    mpi = stand_in("mpich")  # whose -genv holds for all
    mpi.plays(report=REPORT)
    assert tutti("run", "-q", "--mpi", mpi.launcher, "-n", "1", "true", ":", "true").code == 0
    assert mpi.started()["words"][-5:] == ["-n", "1", "true", ":", "true"]


def test_more_ranks_of_several_programs_than_cores(tutti, stand_in):
    mpi = stand_in("openmpi5")
    mpi.plays(report=REPORT)
    words = ["-n", "1", "true", ":", "-np", "4000", "true"]
    assert "tutti: 4001 ranks share " in tutti("run", "--mpi", mpi.launcher, *words).err
    assert mpi.started()["words"][:2] == ["--map-by", ":OVERSUBSCRIBE"]
    for others in (["-n", "1", "false", "-n", "4000"], ["-n", "4000", "--host", "big", "false"]):
        words = ["-q", "--mpi", mpi.launcher, "-n", "1", "true", ":", *others]
        assert tutti("run", *words).code == 0
        assert ":OVERSUBSCRIBE" not in mpi.started()["words"]


@pytest.mark.parametrize(
    "option",
    [
        *(f"--{name}" for name in ("mca", "gmca", "omca", "prtemca", "pmixmca", "gpmixmca")),
        "-mca",
    ],
)
def test_options_of_other_programs_with_two_values(tutti, stand_in, option):
    mpi = stand_in("openmpi5")
    mpi.plays(report=REPORT)
    words = ["-n", "1", "true", ":", option, "pml", "-n", "-n", "4000", "false", "-n", "9"]
    assert "tutti: 4001 ranks share " in tutti("run", "--mpi", mpi.launcher, *words).err
    assert mpi.started()["words"][-8:] == [option, "pml", *words[6:]]


def test_options_of_other_programs_without_values(tutti, stand_in):
    mpi = stand_in("openmpi5")
    mpi.plays(report=REPORT)
    words = ["-n", "1", "true", ":", "--tag-output", "false", "-n", "4000"]
    assert "ranks share" not in tutti("run", "--mpi", mpi.launcher, *words).err


def test_a_value_that_looks_like_a_setting(tutti, stand_in, library):
    mpi = stand_in("openmpi5")
    mpi.plays(report=REPORT)
    words = ["-n", "1", "--mca", "mca_base_env_list", "LD_PRELOAD=libm.so.6", "--", "true"]
    assert tutti("run", "-q", "--mpi", mpi.launcher, *words).code == 0
    assert f"LD_PRELOAD={library}" in mpi.started()["words"]


@pytest.mark.parametrize("option", ["-env", "--env", "-genv", "--genv"])
def test_what_another_program_preloads(tutti, stand_in, library, option):
    mpi = stand_in("mpich")
    mpi.plays(report=REPORT)
    words = ["-n", "1", "true", ":", "-n", "1", option, "LD_PRELOAD", "libm.so.6", "false"]
    assert tutti("run", "-q", "--mpi", mpi.launcher, *words).code == 0
    changed = [*words[:-2], f"{library}:libm.so.6", "false"]
    assert mpi.started()["words"][-len(words) :] == changed


@pytest.mark.parametrize(
    "options", [["-env=LD_PRELOAD=libm.so.6"], ["-envall", "-env=LD_PRELOAD=libm.so.6"]]
)
def test_a_joined_option_before_another_program(tutti, stand_in, library, options):
    mpi = stand_in("mpich")
    mpi.plays(report=REPORT)
    words = ["-n", "1", "true", ":", *options, "false", "x"]
    assert tutti("run", "-q", "--mpi", mpi.launcher, *words).code == 0
    changed = [*words[:-3], f"-env=LD_PRELOAD={library}:libm.so.6", "false", "x"]
    assert mpi.started()["words"][-len(words) :] == changed


@pytest.mark.parametrize(
    ("kind", "options", "variables"),
    [
        ("openmpi5", ["--machinefile=hosts"], {}),
        ("openmpi5", ["--map-by=ppr:4:node"], {}),
        ("openmpi4", ["--default-hostfile", "hosts"], {}),
        ("openmpi4", [], {"OMPI_MCA_orte_default_hostfile": "hosts"}),
        ("mpich", [], {"HYDRA_HOST_FILE": "hosts"}),
        ("intel", [], {"I_MPI_HYDRA_HOST_FILE": "hosts"}),
    ],
)
def test_ranks_that_the_user_has_placed(tutti, stand_in, kind, options, variables):
    mpi = stand_in(kind)  # and rank 0 on another host, so that there is no report here
    words = ["run", "--mpi", mpi.launcher, "-n", "4000", *options, "--", "true"]
    result = tutti(*words, **variables)
    assert (result.code, result.err) == (0, "")
    assert ":OVERSUBSCRIBE" not in mpi.started()["words"]


def test_communication_cores_of_other_hosts(tutti, stand_in):
    mpi = stand_in("mpich")
    mpi.plays(report=REPORT)
    words = ["--mpi", mpi.launcher, "--comm-cores", "4000", "true"]
    assert tutti("run", "-q", "--hosts", "a:9000", *words).code == 0
    assert tutti("run", "-q", "-n", "1", *words).code == 2
    assert tutti("run", "-q", "-n", "1", "-N", "1", *words[:-1], "--", "true").code == 2


def test_the_root_of_an_intel_mpi(tutti, stand_in, tmp_path):
    mpi = stand_in("intel")
    mpi.plays(report=REPORT)
    (tmp_path / "bin").mkdir()
    link = tmp_path / "bin" / "mpirun"
    link.symlink_to(mpi.launcher)
    own, other = str(mpi.prefix), "/usr/lib"
    for launcher, given, handed_on in (
        (mpi.launcher, own, own),
        (mpi.launcher, other, own),
        (str(link), own, own),
    ):
        assert tutti("run", "-q", "--mpi", launcher, "true", I_MPI_ROOT=given).code == 0
        assert mpi.started()["env"]["I_MPI_ROOT"] == handed_on


def test_a_program_that_only_the_launcher_finds(tutti, stand_in):
    mpi = stand_in("mpich")
    mpi.plays(report=REPORT)
    words = ["run", "-q", "--mpi", mpi.launcher, "-n", "2"]
    assert tutti(*words, "-wdir", "/tmp", "--", "./not-here").code == 0
    assert tutti(*words, "-l", "--", "./not-here").code == 127


def test_words_before_the_dashes_go_to_the_launcher(tutti, stand_in):
    mpi = stand_in("mpich")
    mpi.plays(report=REPORT)
    words = ["-bind-to", "core", "--mpi", mpi.launcher, "-n", "2", "-l", "--", "true", "--", "-n"]
    assert tutti("run", "-q", *words).code == 0
    assert mpi.started()["words"][-8:] == ["-bind-to", "core", "-l", "-n", "2", "true", "--", "-n"]


def test_the_mpi_is_the_first_in_path(tutti, stand_in):
    mpi = stand_in("mpich")
    mpi.plays(report=REPORT)
    path = f"{mpi.prefix}/bin:{os.environ['PATH']}"
    assert tutti("run", "-q", "true", PATH=path).code == 0
    assert mpi.started()["words"][-1] == "true"


def test_the_summary(tutti, stand_in):
    mpi = stand_in("openmpi5")
    mpi.plays(report=REPORT, stdout="the program's own\n")
    result = tutti("run", "--mpi", mpi.launcher, "-n", "1", "true")
    assert result.out == "the program's own\n"
    assert lines(result.err) == lines(SUMMARY)


def test_the_summary_of_several_nodes(tutti, stand_in):
    allreduce, _, barrier = REPORT["calls"]
    calls = [
        {
            **allreduce,
            "messages": 16,
            "message_bytes": 4096,
            "without_leaders": {"messages": 64, "bytes": 16384},
        },
        {
            **barrier,
            "messages": 1,
            "message_bytes": 0,
            "without_leaders": {"messages": 5, "bytes": 0},
        },
    ]
    ways = {**REPORT["ways"], "messages": 4194304}
    mpi = stand_in("openmpi5")
    mpi.plays(report={**REPORT, "nodes": 2, "calls": calls, "ways": ways})
    said = lines(tutti("run", "--mpi", mpi.launcher, "-n", "1", "true").err)
    assert said[1] == "tutti: Open MPI 5.0.11, 2 ranks on 2 nodes"
    assert said[6:9] == [
        "between nodes: Allreduce 16 messages of 4 KiB in all; without leaders 64 of 16 KiB",
        "between nodes: Barrier 1 message of 0 B in all; without leaders 5 of 0 B",
        "moved: 8 MiB by mapped memory, 1.5 KiB by flag lines, 4 MiB by messages between nodes",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"calls": []}, "no collective that Tutti knows was called"),
        ({"notes": []}, "next: `tutti bench allreduce -n 2 --mpi {}`"),
        (
            {"notes": [], "calls": [{**REPORT["calls"][0], "collective": "Iallreduce"}]},
            "next: `tutti bench --overlap iallreduce -n 2 --mpi {}`",
        ),
        ({"ways": {"cma": 10}}, "next: `tutti doctor`"),
        ({"nodes": 0}, "tutti: MPICH 5.0.2, 2 ranks"),
    ],
)
def test_the_summary_of_other_reports(tutti, stand_in, changes, said):
    mpi = stand_in("mpich")
    mpi.plays(report={**REPORT, **changes})
    assert said.format(mpi.launcher) in lines(tutti("run", "--mpi", mpi.launcher, "true").err)


def test_the_next_command_may_be_run_as_root(tutti, stand_in):
    mpi = stand_in("openmpi5")
    mpi.plays(report={**REPORT, "notes": []})
    words = ["run", "-n", "2", "--allow-run-as-root"]
    result = tutti(*words, "true", PATH=f"{mpi.prefix}/bin:{os.environ['PATH']}")
    assert lines(result.err)[-1] == "next: `tutti bench allreduce -n 2 --allow-run-as-root`"


def test_a_report_of_another_version(tutti, stand_in):
    mpi = stand_in("mpich")
    mpi.plays(report={**REPORT, "version": 2})
    result = tutti("run", "--mpi", mpi.launcher, "true")
    assert result.code == 5
    assert "reports of version 2, this command reads version 1" in result.err


@pytest.mark.parametrize("code", [0, 1, 42])
def test_the_exit_code_is_the_launchers(tutti, stand_in, code):
    mpi = stand_in("mpich")
    mpi.plays(report=REPORT, code=code)
    assert tutti("run", "-q", "--mpi", mpi.launcher, "true").code == code


@pytest.mark.parametrize(("launchers", "code"), [(9, 9), (0, 1)])
def test_last_words(tutti, stand_in, launchers, code):
    mpi = stand_in("mpich")
    said = [f"tutti: rank 1 ended while rank {i} waited\n" for i in (0, 0, 2, 3, 4, 5)]
    mpi.plays(fatal="".join(said), code=launchers)
    result = tutti("run", "-q", "--mpi", mpi.launcher, "true")
    assert result.code == code
    assert lines(result.err) == [
        "the job ended because: rank 1 ended while rank 0 waited",
        "the job ended because: rank 1 ended while rank 2 waited",
        "the job ended because: rank 1 ended while rank 3 waited",
        "and 2 more sentences of other ranks",
    ]


def test_a_relative_report_is_meant_from_here(tutti, stand_in, tmp_path):
    mpi = stand_in("mpich")
    mpi.plays(report=REPORT)
    tutti("run", "-q", "--mpi", mpi.launcher, "true", TUTTI_REPORT="report.json")
    assert f"{tmp_path}/here/report.json" in mpi.started()["words"]


def test_the_user_may_keep_the_report(tutti, stand_in, tmp_path):
    mpi = stand_in("mpich")
    mpi.plays(report=REPORT)
    kept = tmp_path / "kept" / "report.json"
    kept.parent.mkdir()
    assert tutti("run", "-q", "--mpi", mpi.launcher, "true", TUTTI_REPORT=str(kept)).code == 0
    assert kept.exists()


def test_it_does_not_import_what_takes_long(tutti, stand_in):
    mpi = stand_in("openmpi5")
    mpi.plays(report=REPORT)
    result = tutti("run", "--mpi", mpi.launcher, "-n", "1", "true", PYTHONPROFILEIMPORTTIME="1")
    assert "tutti: Open MPI 5.0.11" in result.err
    imported = {line.rsplit("|", 1)[1].strip() for line in result.err.splitlines() if "|" in line}
    assert "tutti.job" in imported
    assert imported.isdisjoint({"typer", "click", "rich", "subprocess", "dataclasses", "difflib"})


def test_help_names_every_option(tutti):
    shown = tutti("run", "--help").out
    assert all(name in shown for name in job.NAMED)
