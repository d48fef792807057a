# SPDX-License-Identifier: BSD-3-Clause
"""Whole applications: the same results under Tutti as bare. `make test-apps`
installs them."""

from __future__ import annotations

import pytest
from apps import APPS, App
from clients import start
from mpis import DEBIAN_OPENMPI


@pytest.mark.whole
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
def test_results(app: App, ranks: int, tmp_path, say) -> None:
    if not app.installed:
        pytest.skip(f"apt-get install {app.package}")
    results = {}
    for tutti in (False, True):
        folder = tmp_path / ("tutti" if tutti else "bare")
        folder.mkdir()
        app.furnish(folder)
        run = start(DEBIAN_OPENMPI, ranks, list(app.command), tutti=tutti, limit_s=300, cwd=folder)
        assert run.code == 0, run.output[-3000:]
        results[tutti] = app.results(run.output, folder)
    say(f"{run.summary()}")
    assert app.same(results[True], results[False]), results
    assert run.taken() > 0
