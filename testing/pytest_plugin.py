"""The plugin of pytest: `pytest --tt-backend NAME` checks a backend, an item for each operator and dtype.

Without the option it does nothing, and imports nothing more than `tt`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest import Config, Parser

__all__ = ["pytest_addoption", "pytest_configure"]


def pytest_addoption(parser: Parser) -> None:
    """Add the options."""
    group = parser.getgroup("tt", "conformance of backends of tt")
    group.addoption(
        "--tt-backend", action="append", default=[], metavar="NAME",
        help="check this backend against the schema; may be given several times",
    )  # fmt: skip
    group.addoption(
        "--tt-ops", action="append", default=[], metavar="PATTERN",
        help="only operators whose name matches, for instance 'linalg_*'; may be given several times",
    )  # fmt: skip
    group.addoption(
        "--tt-dtype", action="append", default=[], metavar="NAME",
        help="only this dtype, or all (default: one of each kind); may be given several times",
    )  # fmt: skip
    group.addoption(
        "--tt-checks", action="append", default=[], metavar="NAME",
        help="only this check (and runs); may be given several times",
    )  # fmt: skip
    group.addoption("--tt-seed", type=int, default=0, metavar="N", help="of the inputs (0)")
    group.addoption(
        "--tt-baseline", metavar="FILE",
        help="what was wrong in this run, which `tt ops check --save-baseline` wrote, is an expected failure",
    )  # fmt: skip


def pytest_configure(config: Config) -> None:
    """Let the items take part in the collection, if a backend is named."""
    if config.getoption("--tt-backend"):
        from tt.testing.conformance import (
            pytest_items,
        )  # heavy, and pytest loads this module in every run

        config.pluginmanager.register(pytest_items, "tt-conformance")
