"""Pickles: of earlier versions, and pickles that claim more than they hold."""

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


EARLIER = (
    b"\x80\x04\x95\x03\x01\x00\x00\x00\x00\x00\x00\x8c\x17tt.core.methods.copying\x94\x8c\x0erebuild_tensor\x94\x93\x94"
    b"\x8c\x15tt.core.tensor.tensor\x94\x8c\x06Tensor\x94\x93\x94(\x8c\x05array\x94\x8c\x16numpy._core.multiarray\x94"
    b"\x8c\x0c_reconstruct\x94\x93\x94\x8c\x05numpy\x94\x8c\x07ndarray\x94\x93\x94K\x00\x85\x94C\x01b\x94\x87\x94R\x94("
    b"K\x01K\x02\x85\x94h\n\x8c\x05dtype\x94\x93\x94\x8c\x02i8\x94\x89\x88\x87\x94R\x94(K\x03\x8c\x01<\x94NNNJ"
    b"\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t\x94b\x89C\x10\x05\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"
    b"\x94t\x94b\x8c\x03cpu\x94K\x01\x85\x94t\x94\x89\x87\x94R\x94."
)
"""`tt.tensor([5, 6])`, when the functions that rebuild it were in `tt.core.methods.copying`."""


def test_a_pickle_that_names_modules_of_an_earlier_version_is_read():
    assert pickle.loads(EARLIER).tolist() == [5, 6]
    storage = pickle.loads(
        b"ctt.core.methods.copying\nrebuild_storage\n("
        + pickle.dumps(np.arange(3, dtype=np.uint8), 0)[:-1]
        + b"tR."
    )
    assert storage.nbytes() == 3


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
