"""Conversions to and from complex32 are PyTorch's, of every dtype and number."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.core.types.complex32 import decode_complex32, encode_complex32, is_complex32
from tt.core.types.dtype import ALL_DTYPES


def test_every_pattern_goes_to_complex64_and_back():
    parts = np.arange(65536, dtype=np.uint16).view(np.float16)
    array = np.stack([parts, parts[::-1]], -1).view(tt.complex32.numpy)[:, 0]
    wide = decode_complex32(array)
    assert wide.dtype == np.complex64 and np.array_equal(wide.real, parts.astype(np.float32), equal_nan=True)
    back = encode_complex32(wide).view(np.float16).reshape(-1, 2)
    assert np.array_equal(back, array.view(np.float16).reshape(-1, 2), equal_nan=True)
    assert decode_complex32(parts) is parts and encode_complex32(array) is array


def test_only_one_dtype_is_complex32():
    assert [d for d in ALL_DTYPES if is_complex32(d.numpy)] == [tt.complex32]
    assert (
        tt.finfo(tt.complex32).dtype == "float16" and tt.complex32.is_complex and tt.complex32.itemsize == 4
    )


@pytest.mark.torch
@pytest.mark.parametrize("other", ALL_DTYPES, ids=str)
@pytest.mark.filterwarnings("ignore")  # of imaginary parts that are lost
def test_conversions_are_those_of_torch(other):
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(0)
    numbers = random.normal(0, 30, 500) + 1j * random.normal(0, 30, 500)
    numbers[:6] = [0, 1 + 2.0**-11 + 2.0**-40, 65519, 65520 + 1j, 1e-8j, complex(-0.0, -0.0)]
    plain = np.abs(numbers.real[6:]) if not other.is_signed else numbers[6:]
    theirs = torch.tensor(plain).to(getattr(torch, other.name))
    mine = tt.tensor(plain.tolist(), dtype=tt.complex128 if np.iscomplexobj(plain) else tt.float64).to(other)
    assert mine.chalf().tolist() == theirs.to(torch.chalf).tolist()
    assert (
        mine.chalf().to(other).double().tolist() == theirs.to(torch.chalf).to(theirs.dtype).double().tolist()
    )
    wide = tt.tensor(numbers.tolist(), dtype=tt.complex128)
    assert repr(wide.chalf().tolist()) == repr(torch.tensor(numbers).to(torch.chalf).tolist())
