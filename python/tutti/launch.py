# SPDX-License-Identifier: BSD-3-Clause
"""Builds the launcher's command line that puts Tutti into the ranks, and only into them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple, Optional

from tutti import launcher_words
from tutti.arguments import Host
from tutti.errors import UsageError
from tutti.mpi import Mpi

# Any of these names hosts, or the user has placed the ranks on them; then nothing is added.
NAMING = {
    "--host", "-host", "-H", "-hosts", "-f", "--hostfile", "-hostfile", "--machinefile",
    "-machinefile", "--default-hostfile", "-default-hostfile", "--rankfile", "-rankfile",
}  # fmt: skip
PLACING = NAMING | {
    "--oversubscribe", "-oversubscribe", "--map-by", "-map-by", "--use-hwthread-cpus",
    "-N", "-npernode", "--npernode",
}  # fmt: skip
SCHEDULERS = (
    "SLURM_JOB_ID",
    "PBS_JOBID",
    "LSB_JOBID",
    "FLUX_JOB_ID",
    "COBALT_JOBID",
    "PE_HOSTFILE",
)
HOST_FILES = (
    "HYDRA_HOST_FILE",
    "I_MPI_HYDRA_HOST_FILE",
    "OMPI_MCA_orte_default_hostfile",
    "PRTE_MCA_prte_default_hostfile",
)
NEXT_PROGRAM = ":"  # to every launcher
ROOT_VARIABLES = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")


class Launch(NamedTuple):
    """What is started: the words, the launcher's own environment, and what the user should know."""

    words: list[str]
    environment: dict[str, str]
    notes: list[str]


class Job(NamedTuple):
    """What the user asked for."""

    app: Sequence[str]  # maybe several programs, each behind a `:`, with the launcher's options
    ranks: Optional[int] = None
    options: Sequence[str] = ()  # the launcher's own, as they are
    allow_root: bool = False
    hosts: Sequence[Host] = ()  # none: the launcher decides
    machine_file: Optional[Path] = None  # of these hosts, for Intel MPI

    @property
    def all_ranks(self) -> Optional[int]:
        """Of all programs."""
        if self.ranks is None:
            return None
        return self.ranks + sum(map(launcher_words.count, self.other_options))

    @property
    def other_options(self) -> list[list[str]]:
        """The launcher's, of each other program."""
        return [launcher_words.leading(part) for part in parts(self.app)[1:]]


def build(
    mpi: Mpi, job: Job, variables: Mapping[str, str], environment: Mapping[str, str]
) -> Launch:
    """The launch of `job` with `variables` set in its ranks."""
    words = [str(_program(mpi, environment))]
    notes: list[str] = []
    if mpi.family == "openmpi":
        words += _openmpi_root(job, environment)
        words += _openmpi_slots(mpi, job, environment, notes)
    else:
        # Hydra starts the ranks with the PATH of the user, not with the one made for the launcher.
        for name, value in {**variables, "PATH": environment.get("PATH", os.defpath)}.items():
            words += ["-genv", name, value]
    words += _options(mpi, variables, [*_hosts(mpi, job), *job.options])
    if job.ranks is not None and job.all_ranks is not None:
        words += ["-n", str(job.ranks)]
        if not placed_by_user(job, environment):
            notes += _sharing(mpi, job.all_ranks, variables.get("TUTTI_COMM_CORES", "0"))
    first, *others = parts(job.app)
    words += first
    for other in others:
        options = launcher_words.leading(other)
        words += [NEXT_PROGRAM, *_options(mpi, variables, options), *other[len(options) :]]
    return Launch(words, launcher_environment(mpi, environment), notes)


def parts(app: Sequence[str]) -> list[list[str]]:
    """A program, and the others with the launcher's options before them."""
    found: list[list[str]] = [[]]
    for word in app:
        if word == NEXT_PROGRAM:
            found.append([])
        else:
            found[-1].append(word)
    return found


def _options(mpi: Mpi, variables: Mapping[str, str], given: Sequence[str]) -> list[str]:
    """Of one program; Open MPI wants to be told the variables for each anew. Of two values of a
    variable Open MPI 4 takes the last one, and 5 the first one, so LD_PRELOAD is said once."""
    options = list(launcher_words.read(given))
    words: list[str] = []
    if mpi.family == "openmpi":
        said = {"LD_PRELOAD"} if launcher_words.values_of("LD_PRELOAD", options) else set()
        for name, value in variables.items():
            words += [] if name in said else ["-x", f"{name}={value}"]
    for option in options:
        words += _behind(variables.get("LD_PRELOAD", ""), option)
    return words


def _behind(preload: str, given: launcher_words.Given) -> list[str]:
    """An option, with the first library of `preload` before what it preloads."""
    setting = launcher_words.setting(given)
    *before, last = given.words
    if setting is None or setting.name != "LD_PRELOAD":
        return given.words
    if setting.value is None:  # the value that is here
        return [*before, f"{last}={preload}"]
    library = preload.split(os.pathsep)[0]
    return [*before, last.removesuffix(setting.value) + _before(library, setting.value)]


def rank_variables(
    mpi: Optional[Mpi], library: Path, environment: Mapping[str, str], report: Optional[Path] = None
) -> dict[str, str]:
    """The variables that every rank needs: the library, where the MPI is, and TUTTI_*."""
    result = {"LD_PRELOAD": _before(str(library), environment.get("LD_PRELOAD", ""))}
    if mpi is not None and _needs_library_path(mpi):
        directory = str(mpi.library.parent)  # type: ignore[union-attr]
        result["LD_LIBRARY_PATH"] = _before(directory, environment.get("LD_LIBRARY_PATH", ""))
    if mpi is not None and mpi.family == "intel":
        result["I_MPI_ROOT"] = _intel_root(mpi, environment)
    for name in sorted(environment):
        if name.startswith("TUTTI_") and name != "TUTTI_HOME":
            result[name] = environment[name]
    if report is not None:
        result["TUTTI_REPORT"] = str(report)
    return result


def core_variables(comm_cores: int) -> dict[str, str]:
    """What --comm-cores adds to the ranks' variables."""
    return {"TUTTI_COMM_CORES": str(comm_cores)} if comm_cores else {}


def launcher_environment(mpi: Mpi, environment: Mapping[str, str]) -> dict[str, str]:
    """The launcher's own: Intel's mpirun takes mpiexec.hydra, and its data, from these two."""
    result = dict(environment)
    if mpi.family == "intel":
        result["PATH"] = f"{mpi.launcher.parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
        result["I_MPI_ROOT"] = _intel_root(mpi, environment)
    return result


def _intel_root(mpi: Mpi, environment: Mapping[str, str]) -> str:
    """The user's, but where it is of another installation than this one."""
    named = environment.get("I_MPI_ROOT", "")
    known = [path for path in (mpi.launcher, mpi.library) if path is not None]
    holders = {parent for path in known for parent in path.resolve().parents}
    alone = mpi.library is None or mpi.prefix not in mpi.library.parents
    return named if named and (alone or Path(named).resolve() in holders) else str(mpi.prefix)


def placed_by_user(job: Job, environment: Mapping[str, str]) -> bool:
    """Whether hosts or slots come from the user or a batch system."""
    return names_hosts(job, environment, PLACING)


def names_hosts(
    job: Job, environment: Mapping[str, str], options: AbstractSet[str] = frozenset(NAMING)
) -> bool:
    """Whether the hosts do: ranks may run elsewhere."""
    given = launcher_words.names(
        [*job.options, *(word for part in job.other_options for word in part)]
    )
    named = bool(job.hosts) or not options.isdisjoint(given)
    return named or any(name in environment for name in (*SCHEDULERS, *HOST_FILES))


def is_off(job: Job, environment: Mapping[str, str]) -> bool:
    """Whether all ranks are told to leave Tutti out, by the launcher's options or else as all
    variables."""
    here = environment.get("TUTTI_OFF")

    def value(options: Sequence[str]) -> Optional[str]:
        told = launcher_words.values_of("TUTTI_OFF", launcher_words.read(options))
        return here if not told or told[-1] is None else told[-1]

    return all(value(options) == "1" for options in (job.options, *job.other_options))


def usable_cores() -> int:
    """Physical cores of which this process may use at least one hardware thread."""
    cores = set()
    for cpu in os.sched_getaffinity(0):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            cores.add(siblings.read_text())
        except OSError:
            cores.add(str(cpu))
    return len(cores)


def _program(mpi: Mpi, environment: Mapping[str, str]) -> Path:
    # Intel's mpirun is a script that does not hand signals on to the program it starts; all that it
    # adds is to look for a batch system.
    real = mpi.launcher.parent / "mpiexec.hydra"
    batch = any(name in environment for name in SCHEDULERS)
    return real if mpi.family == "intel" and real.exists() and not batch else mpi.launcher


def _before(first: str, rest: str) -> str:
    others = [word for word in rest.split(os.pathsep) if word and word != first]
    return os.pathsep.join([first, *others])


def _needs_library_path(mpi: Mpi) -> bool:
    if mpi.library is None:
        return False
    system = str(mpi.library.resolve()).startswith(("/usr/lib", "/lib"))
    # A conda prefix holds libraries that would shadow the system's in every program.
    return not system and not (mpi.prefix / "conda-meta").is_dir()


def _sharing(mpi: Mpi, ranks: int, comm_cores: str) -> list[str]:
    """A warning where the communication cores are what makes ranks share the others."""
    remedy = {"openmpi": "OMPI_MCA_mpi_yield_when_idle=1", "intel": "I_MPI_THREAD_YIELD=3"}
    cores = usable_cores()
    left = cores - (int(comm_cores) if comm_cores.isdigit() else 0)
    if not left < ranks <= cores or mpi.family not in remedy:
        return []
    return [
        f"ranks share cores, where {mpi.name}'s own messages between them may take milliseconds; "
        f"if the program sends such, set {remedy[mpi.family]}"
    ]


def _hosts(mpi: Mpi, job: Job) -> list[str]:
    """Ranks are numbered host by host."""
    if not job.hosts:
        return []
    if mpi.family == "intel":  # whose Hydra reads numbers of ranks in files alone
        if job.machine_file is not None:
            return ["-machinefile", str(job.machine_file)]
        return ["-ppn", "1", "-hosts", ",".join(host.name for host in job.hosts)]
    slots = ",".join(f"{host.name}:{host.ranks}" for host in job.hosts)
    return ["--host" if mpi.family == "openmpi" else "-hosts", slots]


def _openmpi_root(job: Job, environment: Mapping[str, str]) -> list[str]:
    if job.allow_root:
        return ["--allow-run-as-root"]
    allowed = all(environment.get(name) == "1" for name in ROOT_VARIABLES)
    if os.geteuid() == 0 and not allowed and "--allow-run-as-root" not in job.options:
        raise UsageError(
            "Open MPI refuses to run as root unless you say so: give --allow-run-as-root, "
            f"or set {ROOT_VARIABLES[0]}=1 and {ROOT_VARIABLES[1]}=1"
        )
    return []


def _openmpi_slots(
    mpi: Mpi, job: Job, environment: Mapping[str, str], notes: list[str]
) -> list[str]:
    cores = usable_cores()
    ranks = job.all_ranks
    if ranks is None or ranks <= cores or placed_by_user(job, environment):
        return []
    options = ["--oversubscribe"] if mpi.major < 5 else ["--map-by", ":OVERSUBSCRIBE"]
    notes.append(
        f"{ranks} ranks share {cores} core{'s' if cores > 1 else ''}, "
        f"so {mpi.name} gets {' '.join(options)}"
    )
    return options
