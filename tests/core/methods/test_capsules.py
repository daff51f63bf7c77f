"""Capsules of DLPack are taken as the arrays that made them."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.core.methods.capsules import is_capsule
from tt.utils.dlpack import from_dlpack, to_dlpack


@pytest.mark.parametrize("dtype", [tt.float32, tt.int64, tt.bool, tt.bfloat16, tt.complex128])
def test_a_capsule_and_back_shares_memory(dtype):
    x = tt.arange(6).reshape(2, 3).to(dtype)[:, 1:]
    again = from_dlpack(to_dlpack(x))
    assert again.dtype == dtype and again.shape == (2, 2) and again.stride() == (3, 1)
    again[0, 0] = 0
    assert x[0, 0].item() == 0 and again.data_ptr() == x.data_ptr()


def test_a_capsule_of_numpy_is_taken():
    array = np.arange(3.0)
    found = tt.from_dlpack(array.__dlpack__())
    array[0] = 7
    assert found.tolist() == [7.0, 1.0, 2.0]
    assert tt.from_dlpack(array.__dlpack__(max_version=(1, 0))).tolist() == [7.0, 1.0, 2.0]
    assert tt.from_dlpack(array.__dlpack__(), copy=True).data_ptr() != array.ctypes.data


@pytest.mark.torch
def test_a_capsule_of_pytorch_is_taken():
    import torch

    there = torch.arange(4.0)
    found = tt.from_dlpack(torch.utils.dlpack.to_dlpack(there))
    there[0] = 9
    assert found.tolist() == [9.0, 1.0, 2.0, 3.0]
    assert torch.utils.dlpack.from_dlpack(to_dlpack(found)).tolist() == [9.0, 1.0, 2.0, 3.0]


def test_a_capsule_is_taken_once():
    capsule = to_dlpack(tt.ones(2))
    assert is_capsule(capsule) and not is_capsule(tt.ones(2))
    from_dlpack(capsule)
    with pytest.raises(BufferError, match="this one is used"):
        from_dlpack(capsule)
    with pytest.raises(TypeError, match="takes an object with __dlpack__"):
        from_dlpack(3)
