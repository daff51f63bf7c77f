"""Subscripts of integers and slices, by the short way and by the general one."""

from __future__ import annotations

import numpy as np
import pytest

import tt


@pytest.mark.parametrize(
    "index",
    [2, -1, slice(1, 3), slice(None, None, 2), slice(5, 2), slice(-100, 100), (1, 2), (slice(None), 1),
     (1, slice(None), slice(1, None)), (slice(1, 2), slice(None), -1), (..., 1), (None, 1), slice(None), ()],
)  # fmt: skip
def test_subscripts_are_those_of_numpy(index):
    array = np.arange(60).reshape(3, 4, 5)
    tensor = tt.from_numpy(array)
    for _ in range(2):
        found = tensor[index]
        assert found.tolist() == array[index].tolist()
        assert found.data_ptr() == array[index].__array_interface__["data"][0] or found.numel() == 0


@pytest.mark.parametrize("index", [slice(None, None, -1), (1, slice(None, 0, -2)), (slice(3, 9, -1), 0)])
def test_slices_with_a_negative_step_are_copies(index):
    array = np.arange(60).reshape(3, 4, 5)
    tensor = tt.from_numpy(array)
    for _ in range(2):
        found = tensor[index]
        assert found.tolist() == array[index].tolist()
        found.fill_(-1)
        assert tensor.min().item() == 0


@pytest.mark.parametrize("index", [5, (0, 9), (0, 0, 0, 0), slice(None, None, 0), 1.5, "a"])
def test_wrong_subscripts_are_told_as_the_general_way_tells_them(index):
    tensor = tt.arange(24).reshape(2, 3, 4)
    tensor[0], tensor[0, 1]
    with pytest.raises((IndexError, ValueError, TypeError)):
        tensor[index]
