"""Dtypes: one object for each, found by every name; what NumPy and Python know of their numbers."""

from __future__ import annotations

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

import tt
from tt.core.types.dtype import DTYPES, from_numpy_dtype, to_dtype


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_there_is_one_object_for_each_dtype(dtype):
    assert to_dtype(dtype.name) is to_dtype(f"torch.{dtype.name}") is to_dtype(dtype) is dtype
    assert from_numpy_dtype(dtype.numpy) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is copy.deepcopy(dtype) is dtype
    assert dtype.itemsize == dtype.numpy.itemsize


def test_real_and_complex_dtypes_belong_together():
    assert (tt.float32.to_complex(), tt.complex128.to_real()) == (tt.complex64, tt.float64)
    assert (tt.float16.to_complex(), tt.complex32.to_real()) == (tt.complex32, tt.float16)
    assert tt.bfloat16.to_complex() is tt.complex64


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "complex64"])
def test_limits_of_floating_dtypes_are_those_of_numpy(name):
    found, expected = tt.finfo(getattr(tt, name)), np.finfo(name)
    for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal"):
        assert getattr(found, field) == pytest.approx(float(getattr(expected, field)), rel=1e-6), field
    assert found.resolution == 10.0**-expected.precision
    assert tt.finfo(tt.bfloat16).eps == float(ml_dtypes.finfo("bfloat16").eps)


@pytest.mark.parametrize("name", ["int8", "int64", "uint8", "uint16"])
def test_limits_of_integers_are_those_of_numpy(name):
    found, expected = tt.iinfo(getattr(tt, name)), np.iinfo(name)
    assert (found.bits, found.min, found.max) == (expected.bits, expected.min, expected.max)


def test_what_has_no_limits_of_that_kind_is_refused():
    with pytest.raises(TypeError):
        tt.finfo(tt.int32)
    with pytest.raises(TypeError):
        tt.iinfo(tt.float32)
    with pytest.raises(TypeError, match="no dtype corresponds to a NumPy array of datetime64"):
        from_numpy_dtype(np.dtype("datetime64[s]"))


@pytest.mark.torch
def test_the_sign_of_dtypes_is_that_of_torch_and_quantized_ones_have_none():
    import torch

    for d in DTYPES:
        theirs = getattr(torch, d.name, None)
        if d.kind != "quantized":
            assert theirs is None or d.is_signed == theirs.is_signed, d
            continue
        for dtype in (d, theirs):
            with pytest.raises(RuntimeError, match="quantized"):
                _ = dtype.is_signed
