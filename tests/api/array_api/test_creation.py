"""Making arrays."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.api.array_api.comparing import check
from tt import array_api as xp

CASES = [
    "xp.arange(4)", "xp.arange(1, 6, 2)", "xp.arange(3, 0)", "xp.arange(3, 0, -1)", "xp.arange(0.0, 1.0, 0.25)",
    "xp.arange(4, dtype=xp.uint8)", "xp.arange(2, 2)", "xp.arange(5.0, 1.0, dtype=xp.float32)",
    "xp.asarray(3)", "xp.asarray(2.5)", "xp.asarray(1j)", "xp.asarray(True)", "xp.asarray([[1, 2], [3, 4]])",
    "xp.asarray([1, 2], dtype=xp.float32)", "xp.asarray((1.0, 2), dtype=xp.complex64)", "xp.asarray([])",
    "xp.asarray(a([1, 2]), copy=True)", "xp.asarray(a([1, 2]), dtype=xp.float64)",
    "xp.zeros(3)", "xp.zeros((2, 3), dtype=xp.int8)", "xp.ones(())", "xp.ones((2, 0), dtype=xp.bool)",
    "xp.full(2, 7)", "xp.full((2, 2), 1.5)", "xp.full((), True)", "xp.full(1, 1j)", "xp.full(2, 3, dtype=xp.uint16)",
    "xp.full(2, 1e300j)", "xp.zeros_like(a([1, 2]))", "xp.ones_like(a([1.0]), dtype=xp.int32)",
    "xp.full_like(a([1.0, 2.0]), 5)", "xp.full_like(a([1, 2]), 5, dtype=xp.float32)",
    "xp.empty((2, 3)).shape == (2, 3)", "xp.empty_like(a([1, 2])).dtype",
    "xp.eye(2)", "xp.eye(2, 3, k=1)", "xp.eye(3, 2, k=-1)", "xp.eye(2, k=5)", "xp.eye(2, k=-2)",
    "xp.eye(2, dtype=xp.bool)", "xp.eye(2, 0)", "xp.linspace(0, 1, 5)", "xp.linspace(0, 1, 4, endpoint=False)",
    "xp.linspace(1, 0, 3, dtype=xp.float32)", "xp.linspace(0, 1j, 3)", "xp.linspace(2, 3, 1)", "xp.linspace(2, 3, 0)",
    "xp.meshgrid(a([1, 2]), a([3, 4, 5]))", "xp.meshgrid(a([1, 2]), a([3, 4, 5]), indexing='ij')",
    "xp.meshgrid(a([1]))",
    "xp.meshgrid(a([1, 2]), a([3]), a([4, 5, 6]))",
    "xp.tril(xp.ones((3, 3)))", "xp.tril(xp.ones((2, 3, 3)), k=1)", "xp.triu(xp.ones((3, 2)), k=-1)",
    "xp.triu(a([[1, 2], [3, 4]]))",
]  # fmt: skip


@pytest.mark.parametrize("call", CASES)
def test_equals_the_strict_library(call):
    check(call)


def test_arrays_of_numpy_and_their_memory():
    array = np.arange(3.0)
    shared = xp.asarray(array, copy=False)
    shared[0] = 9
    assert array[0] == 9
    assert xp.asarray(array[::-1]).tolist() == [2.0, 1.0, 9.0]
    with pytest.raises(ValueError, match="negative"):
        xp.asarray(array[::-1], copy=False)
    assert xp.from_dlpack(array).tolist() == [9.0, 1.0, 2.0]
    copied = xp.from_dlpack(array, copy=True)
    copied[0] = 1
    assert array[0] == 9


def test_arrays_are_copied_only_where_that_is_asked_for():
    x = xp.asarray([1, 2])
    assert xp.asarray(x) is x and xp.asarray(x, copy=False) is x
    assert xp.asarray(x, copy=True) is not x
    with pytest.raises(ValueError, match="without a copy"):
        xp.asarray(x, dtype=xp.float32, copy=False)
    with pytest.raises(ValueError, match="without a copy"):
        xp.asarray(x, device="meta", copy=False)
    assert xp.asarray(x, device="meta").device.type == "meta"


def test_sequences_of_arrays_keep_their_gradients():
    x = tt.ones(()).requires_grad_()
    found = xp.asarray([[x, 2.0], [x * 3, x]])
    assert found.tolist() == [[1.0, 2.0], [3.0, 1.0]]
    found.sum().backward()
    assert x.grad.item() == 5.0
    with pytest.raises(ValueError, match="without a copy"):
        xp.asarray([x, x], copy=False)


def test_numbers_beyond_a_dtype():
    assert xp.full(1, 1e300, dtype=xp.float32).tolist() == [float("inf")]
    with pytest.raises(RuntimeError, match="does not fit into int64"):
        xp.full(1, 2**70)
    with pytest.raises(RuntimeError, match="full"):
        xp.full(1, 300, dtype=xp.uint8)


def test_a_lone_vector_has_a_grid_of_its_own():
    x = xp.asarray([1, 2])
    grid = xp.meshgrid(x)[0]
    grid[0] = 5
    assert x.tolist() == [1, 2] and xp.meshgrid() == []
