# SPDX-License-Identifier: BSD-3-Clause
"""`--whole` runs everything; without it a case that is marked `whole` is left out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rig.cluster import Cluster, NoCluster


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="every MPI and layout")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "whole: too long for `make test`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--whole"):
        return
    left = [item for item in items if item.get_closest_marker("whole")]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Four hosts; a layout of fewer ranks takes the first of them."""
    try:
        with Cluster(hosts=4) as made:
            yield made
    except NoCluster as missing:
        pytest.skip(str(missing))
