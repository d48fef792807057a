# SPDX-License-Identifier: BSD-3-Clause
"""Whole applications have the same results between hosts as bare. make test-apps installs them."""

from __future__ import annotations

from functools import partial

import pytest
from apps.app import App, Failed
from apps.table import APPS
from cases import SHORT
from records.nodes_applications import starting
from rig.cluster import Cluster
from rig.launchers import Layout

LAYOUTS = [SHORT, Layout((2, 1, 1))]


@pytest.mark.whole
@pytest.mark.parametrize("nodes", ["auto", "1"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
def test_application(cluster: Cluster, app: App, layout: Layout, nodes: str) -> None:
    if not app.installed:
        pytest.skip(f"apt-get install {app.package}")
    ranks, start = sum(layout.counts), starting(cluster, layout, nodes)
    if app.one_host:
        with pytest.raises(Failed):
            app.run(ranks, partial(start, tutti=False))
        return
    _, expected = app.run(ranks, partial(start, tutti=False))
    run, results = app.run(ranks, partial(start, tutti=True))
    assert app.same(results, expected), (results, expected)
    assert run.taken() > 0, run.summary()
