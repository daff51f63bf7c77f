"""What tests of sparse tensors share: a tensor with repeated coordinates, and silence for PyTorch's warnings."""

from __future__ import annotations

import warnings

import pytest

import tt

INDICES, VALUES, SIZE = [[0, 1, 1, 0], [2, 0, 2, 2]], [3.0, 4.0, 5.0, 6.0], (2, 3)


@pytest.fixture
def sparse():
    return tt.sparse_coo_tensor(INDICES, VALUES, SIZE)


@pytest.fixture
def quiet_torch():
    """Leave out what PyTorch says once of sparse tensors: that they are in beta, and not checked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
