# SPDX-License-Identifier: BSD-3-Clause
"""Whole applications: the same results under Tutti as bare, hardly a call left to the MPI, and no
more memory than docs/commons.md promises. `make test-apps` installs them."""

from __future__ import annotations

from pathlib import Path

import pytest
from apps.app import App
from apps.table import APPS
from rig.jobs import Run, start
from rig.mpis import DEBIAN_OPENMPI
from rig.peak import Peak


def ran(app: App, ranks: int, folder: Path, tutti: bool) -> tuple[Run, list[float], Peak]:
    folder.mkdir()
    app.furnish(folder, ranks)
    peak, command = Peak(), list(app.command)
    run = start(DEBIAN_OPENMPI, ranks, command, tutti=tutti, limit_s=300, cwd=folder, peak=peak)
    assert run.code == 0, run.output[-3000:]
    return run, app.results(run.output, folder), peak


@pytest.mark.whole
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
def test_app(app: App, ranks: int, tmp_path, say) -> None:
    if not app.installed:
        pytest.skip(f"apt-get install {app.package}")
    _, expected, bare = ran(app, ranks, tmp_path / "bare", tutti=False)
    run, results, peak = ran(app, ranks, tmp_path / "tutti", tutti=True)
    say(run.summary())
    assert app.same(results, expected), (results, expected)
    assert run.taken() >= 0.98 * run.seen() > 0, run.summary()
    say(peak.check(bare, ranks))
