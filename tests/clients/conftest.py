# SPDX-License-Identifier: BSD-3-Clause
"""`--whole` runs everything; without it a case that is marked `whole` is left out."""

from __future__ import annotations

import pytest

said: list[str] = []


def pytest_addoption(parser) -> None:
    parser.addoption("--whole", action="store_true", help="everything: half an hour")


def pytest_configure(config) -> None:
    config.addinivalue_line("markers", "whole: too long for `make test`")


def pytest_collection_modifyitems(config, items) -> None:
    if config.getoption("--whole"):
        return
    left = [item for item in items if item.get_closest_marker("whole")]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


@pytest.fixture
def whole(request) -> bool:
    return bool(request.config.getoption("--whole"))


@pytest.fixture
def say(request):
    """Keeps a line for the end of the output, under the test's name."""
    return lambda line: said.append(f"{request.node.name}: {line}")


def pytest_terminal_summary(terminalreporter) -> None:
    terminalreporter.section("real clients")
    for line in said:
        terminalreporter.write_line(line)
