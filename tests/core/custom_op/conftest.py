"""Registrations of the tests of this folder end with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tt import library


@pytest.fixture(autouse=True)
def scope() -> Iterator[Any]:
    """Undo the registrations of a test."""
    with library.scoped() as scope:
        yield scope
