# SPDX-License-Identifier: BSD-3-Clause
"""The demo's table, and its warning of a machine that was not quiet."""

from __future__ import annotations

from rich.table import Table
from rig.text import size_text, time_text

from demonstration.measure import Row


def ratio_of(row: Row) -> str:
    if row.disturbed:
        return "[yellow]not quiet[/]"
    colour = "green" if row.ratio >= 1.05 else "red" if row.ratio < 0.95 else "default"
    return f"[{colour}]{row.ratio:.2f}x[/]"


def warning_of(rows: list[Row]) -> str:
    """Of rows that are no result; "" when all are."""
    disturbed = [row for row in rows if row.disturbed]
    if not disturbed:
        return ""
    return (
        f"Not a result: {len(disturbed)} of {len(rows)} rows, as the machine was not quiet.\n"
        f"While they were measured, {disturbed[-1].disturbed}.\n"
        "Such times say more about that than about MPI, and differ from run to run.\n"
        "`top` says who they are; when they have ended, call `make demo` again."
    )


def table_of(rows: list[Row], applications: list[Row], turns: int) -> Table:
    what = "time of a call on the slowest rank"
    table = Table(title=f"2 ranks: {what}" + (", medians of undisturbed runs" if turns > 1 else ""))
    table.add_column("collective", no_wrap=True)
    for name in ("size", "MPI alone", "with Tutti", "ratio", "physical limit"):
        table.add_column(name, justify="right")
    last = ""
    for row in [*rows, *applications]:
        if last and row.what != last:
            table.add_section()
        limit = time_text(row.limit_us) if row.limit_us is not None else "-"
        table.add_row(
            row.what if row.what != last else "",
            size_text(row.size) if row.size else "",
            time_text(row.base_us),
            time_text(row.tutti_us),
            ratio_of(row),
            limit,
        )
        last = row.what
    return table
