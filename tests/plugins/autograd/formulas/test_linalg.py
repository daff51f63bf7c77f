"""Second derivatives of distances where coordinates are equal."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.plugins.autograd.formulas.derivatives import hessian

F = tt.nn.functional


def test_second_derivatives_of_euclidean_distances_count_equal_coordinates():
    x = np.array([[1.0, 5.0], [2.0, 2.0]])
    fixed = tt.tensor([[1.0, 2.0]], dtype=tt.float64)
    result = hessian(lambda at: tt.cdist(at, fixed).sum(), x)
    np.testing.assert_allclose(result, np.diag([1 / 3, 0, 0, 1]), atol=1e-15)


def test_second_derivatives_of_distances_of_pairs_count_equal_coordinates():
    result = hessian(lambda at: F.pdist(at).sum(), [[1.0, 5.0], [1.0, 2.0]])
    expected = np.array([[1, 0, -1, 0], [0, 0, 0, 0], [-1, 0, 1, 0], [0, 0, 0, 0]]) / 3
    np.testing.assert_allclose(result, expected, atol=1e-15)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 2.5, 3.0, float("inf")])
def test_second_derivatives_of_distances_of_equal_points_are_zero(p):
    fixed = tt.tensor([[1.0, 2.0]], dtype=tt.float64)
    assert not hessian(lambda at: tt.cdist(at, fixed, p=p).sum(), [[1.0, 2.0]]).any()
