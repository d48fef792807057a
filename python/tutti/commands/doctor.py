# SPDX-License-Identifier: BSD-3-Clause
"""Say what this machine offers to Tutti, and what to do about each no; or what hosts offer.

tutti doctor --hosts a,b

tutti doctor --hostfile hosts -- OPTIONS OF THE LAUNCHER
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import typer

from tutti import arguments, examination, hostfiles, hosts, mpi, version
from tutti.arguments import Host
from tutti.commands.declare import declared
from tutti.errors import HostError, UsageError
from tutti.reporters import checks, compared
from tutti.reporters.quantities import plural
from tutti.reporters.text import write_file

STANDARD_OUTPUT = Path("-")


def register(app: typer.Typer) -> None:
    app.command("doctor", help=__doc__)(doctor)


def doctor(
    options: Optional[list[str]] = typer.Argument(
        None, metavar="[-- LAUNCHER OPTIONS]", help="With hosts: what the launcher needs to know."
    ),
    hosts_text: Optional[str] = typer.Option(
        None,
        *arguments.HOSTS.names,
        metavar=arguments.HOSTS.metavar,
        help="Look at these hosts, by the MPI's launcher; also with numbers of ranks: a:2,b:2.",
    ),
    hostfile: Optional[Path] = declared(arguments.HOSTFILE),
    mpi_path: Optional[str] = typer.Option(
        None,
        *arguments.MPI.names,
        metavar=arguments.MPI.metavar,
        help="This MPI, a launcher or a directory with one. Default: all in PATH; on hosts, "
        "the first.",
    ),
    json_file: Optional[Path] = typer.Option(
        None, "--json", metavar="FILE", help="Write it to FILE; - prints it, and nothing else."
    ),
    allow_root: bool = declared(arguments.ALLOW_ROOT),
) -> None:
    if json_file != STANDARD_OUTPUT:
        arguments.check_outputs(json_file)
    asked = _hosts(hosts_text, hostfile)
    _check_options(options or [], bool(asked))
    if asked:
        _look_at_hosts(asked, mpi.find(mpi_path), options or [], allow_root, json_file)
        return
    document = examination.examine(mpi_path)
    if json_file != STANDARD_OUTPUT:
        heading = checks.machine_line(document["machine"])
        checks.print_checks([heading], checks.checks_of(document))
    _write(json_file, document)


def _hosts(text: Optional[str], hostfile: Optional[Path]) -> tuple[Host, ...]:
    """Those of the command line, each once; none: this one is meant."""
    arguments.check_one_says_hosts(text, hostfile)
    if hostfile is not None:
        return hostfiles.once(hostfiles.read(hostfile))
    return hostfiles.once(arguments.hosts(text, None, counted=False))


def _check_options(options: Sequence[str], hosts_given: bool) -> None:
    if options and not hosts_given:
        raise UsageError(f"`tutti doctor` takes no '{options[0]}' without --hosts or --hostfile")
    if options and not options[0].startswith("-"):
        raise UsageError(
            f"'{options[0]}' is no option of the launcher; hosts are separated by commas: a,b"
        )


def _look_at_hosts(
    asked: Sequence[Host],
    found: mpi.Mpi,
    options: Sequence[str],
    allow_root: bool,
    json_file: Optional[Path],
) -> None:
    answers = hosts.look(found, asked, options, allow_root)
    silent = [answer for answer in answers if answer.document is None]
    if json_file != STANDARD_OUTPUT:
        looked = {
            answer.host.name: compared.Looked(
                checks.machine_line(answer.document["machine"]),
                examination.usable_cores(answer.document),
                examination.checks_on(answer.host, answer.document, found),
            )
            for answer in answers
            if answer.document is not None
        }
        compared.print_hosts(looked, silent, f"Tutti {version()}, {found}")
    rows = [
        {
            "host": answer.host.name,
            **(answer.document or {"problem": answer.problem, "advice": answer.advice}),
        }
        for answer in answers
    ]
    _write(json_file, {"tutti": version(), "mpi": str(found), "hosts": rows})
    if silent:
        names = ", ".join(answer.host.name for answer in silent)
        raise HostError(f"{len(silent)} of {plural(len(answers), 'host')} not looked at: {names}")


def _write(file: Optional[Path], document: dict[str, Any]) -> None:
    text = json.dumps(document, indent=1) + "\n"
    if file == STANDARD_OUTPUT:
        sys.stdout.write(text)
    elif file is not None:
        write_file(file, text)
