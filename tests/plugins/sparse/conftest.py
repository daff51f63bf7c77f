"""A tensor of the layout sparse_coo with repeated coordinates."""

from __future__ import annotations

import pytest

import tt

INDICES, VALUES, SIZE = [[0, 1, 1, 0], [2, 0, 2, 2]], [3.0, 4.0, 5.0, 6.0], (2, 3)


@pytest.fixture
def sparse():
    return tt.sparse_coo_tensor(INDICES, VALUES, SIZE)
