# SPDX-License-Identifier: BSD-3-Clause
"""Whole applications have the same results between hosts as bare. make test-apps installs them."""

from __future__ import annotations

import pytest
from applications import Failed, sample
from apps.app import App
from apps.table import APPS
from cluster import Cluster
from launchers import Layout
from spanning import SHORT

FAILS_BARE = ["NWChem"]  # the MPI gives it no memory for a window
LAYOUTS = [SHORT, Layout((2, 1, 1))]


@pytest.mark.whole
@pytest.mark.parametrize("nodes", ["auto", "1"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
def test_application(cluster: Cluster, app: App, layout: Layout, nodes: str) -> None:
    if not app.installed:
        pytest.skip(f"apt-get install {app.package}")
    if app.name in FAILS_BARE:
        with pytest.raises(Failed):
            sample(cluster, layout, app, None)
        return
    _, expected = sample(cluster, layout, app, None)
    run, results = sample(cluster, layout, app, nodes)
    assert app.same(results, expected), (results, expected)
    assert run.taken() > 0, run.summary()
