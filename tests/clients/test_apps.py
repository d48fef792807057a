# SPDX-License-Identifier: BSD-3-Clause
"""Whole applications: under Tutti the same results as bare, and no more memory than
docs/commons.md says. `make test-apps` installs them."""

from __future__ import annotations

import pytest
from apps import APPS, App
from clients import start
from mpis import DEBIAN_OPENMPI
from pss import Peak

MORE_KIB = 16 << 10  # a rank may hold at its peak


@pytest.mark.whole
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
def test_results(app: App, ranks: int, tmp_path, say) -> None:
    if not app.installed:
        pytest.skip(f"apt-get install {app.package}")
    results, peaks = {}, {}
    for tutti in (False, True):
        folder = tmp_path / ("tutti" if tutti else "bare")
        folder.mkdir()
        app.furnish(folder, ranks)
        peaks[tutti] = Peak()
        run = start(
            DEBIAN_OPENMPI,
            ranks,
            list(app.command),
            tutti=tutti,
            limit_s=300,
            cwd=folder,
            peak=peaks[tutti],
        )
        assert run.code == 0, run.output[-3000:]
        results[tutti] = app.results(run.output, folder)
    say(f"{run.summary()}; peak {peaks[True]}, bare {peaks[False]}")
    assert app.same(results[True], results[False]), results
    assert run.taken() > 0
    assert 0 < peaks[True].kib <= peaks[False].kib + ranks * MORE_KIB
