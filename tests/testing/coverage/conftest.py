"""The matrix of all operators and backends, which several files look at."""

from __future__ import annotations

import pytest

from tt.testing.coverage import matrix


@pytest.fixture(scope="package")
def found():
    return matrix()
