"""Pickles: what they keep, and pickles that claim more than they hold."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tt
from tt.core.methods.memory.pickling import rebuild_storage, rebuild_tensor


def round_trip(value):
    return pickle.loads(pickle.dumps(value))


class Image(tt.Tensor):
    """A subclass; on module level, so that pickle finds it."""


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "message"),
    [
        ((100,), (4,), 0, "is not part of memory of 16 bytes"),
        ((2,), (4,), -4, "is not part of memory of 16 bytes"),
        ((2,), (4,), 2**63, "is not part of memory of 16 bytes"),
        ((2,), (2**63,), 0, "is not part of memory of 16 bytes"),
        ((-1,), (4,), 0, "is not part of memory of 16 bytes"),
        ((2**40, 2**40), (0, 0), 0, "is not part of memory of 16 bytes"),
        ((2, 2), (4,), 0, "is not part of memory of 16 bytes"),
        ((4,), (-4,), 12, "stride in the given pickled tensor is negative"),
        ((2,), (1,), 0, "not a multiple of the element byte size"),
    ],
)
def test_places_outside_of_the_storage_are_refused(
    shape: Any, strides: Any, offset: int, message: str
) -> None:
    storage = rebuild_storage(np.zeros(16, np.uint8))
    with pytest.raises(ValueError, match=message):
        rebuild_tensor(tt.Tensor, ("place", storage, tt.float32, shape, strides, offset), False)


def test_arrays_whose_strides_tensors_do_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        rebuild_tensor(tt.Tensor, ("array", np.zeros(3)[::-1], "cpu", None), False)


def test_meta_tensors_are_pickled_without_values():
    x = round_trip(tt.zeros(2, 3, device="meta").t())
    assert x.is_meta and x.shape == (3, 2) and x.stride() == (1, 3)
