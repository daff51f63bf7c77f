"""The engines with which the tests of tt.distributed run."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from zlib import crc32

import pytest

from tests.api.distributed.programs import MPI, TCP

ONE_IN: Final = 6


@pytest.fixture(params=["threads", "gloo", TCP, MPI])
def engine(request: pytest.FixtureRequest) -> str:
    """Return the engine of `run`: ranks are threads, or processes."""
    name: str = request.param
    return name


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave one in some of the tests with processes in the base tier, where programs and not engines are tested.

    Tests of engines, collectives and messages are those that lie in this folder itself.
    """
    for item in items:
        if (
            isinstance(item, pytest.Function)
            and hasattr(item, "callspec")
            and item.callspec.params.get("engine") == "gloo"
            and item.path.parent != Path(__file__).parent
            and crc32(item.nodeid.encode()) % ONE_IN
        ):
            item.add_marker(pytest.mark.exhaustive)
