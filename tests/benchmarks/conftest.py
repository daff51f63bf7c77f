"""The benchmarks are programs of the repository, not part of the package: they are found from its root."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))


@pytest.fixture(scope="module", autouse=True)
def _leaves_no_operators() -> Iterator[None]:
    """Take out a benchmark's operators: other tests look at all operators that there are."""
    from benchmarks.custom_ops import operators_of_tt
    from tt.library import scoped

    with scoped():
        yield
    operators_of_tt.cache_clear()
