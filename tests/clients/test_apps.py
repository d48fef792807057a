# SPDX-License-Identifier: BSD-3-Clause
"""Whole applications: the same results under Tutti as bare, hardly a call left to the MPI, and no
more memory than docs/commons.md promises. `make test-apps` installs them."""

from __future__ import annotations

from functools import partial

import pytest
from apps.app import App
from apps.table import APPS
from rig.jobs import Run, start
from rig.mpis import DEBIAN_OPENMPI
from rig.peak import Peak


def ran(app: App, ranks: int, tutti: bool) -> tuple[Run, list[float], Peak]:
    peak = Peak()
    run, results = app.run(ranks, partial(start, DEBIAN_OPENMPI, tutti=tutti, peak=peak))
    return run, results, peak


@pytest.mark.whole
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
def test_app(app: App, ranks: int, say) -> None:
    if not app.installed:
        pytest.skip(f"apt-get install {app.package}")
    _, expected, bare = ran(app, ranks, tutti=False)
    run, results, peak = ran(app, ranks, tutti=True)
    say(run.summary())
    assert app.same(results, expected), (results, expected)
    assert run.taken() >= 0.98 * run.seen() > 0, run.summary()
    say(peak.check(bare, ranks))
