"""Members that convert: `to` and its kin, and the names of C types."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.backends.array_api.devices import device
from tt.core.errors import ArgumentError


def test_to_returns_the_tensor_itself_when_nothing_changes():
    x = tt.ones(2)
    for same in (
        x.to(tt.float32), x.to("cpu"), x.to(tt.device("cpu")), x.to("cpu", tt.float32), x.to(tt.ones(3)), x.to(),
        x.to(None), x.to(dtype=tt.float32), x.to(device="cpu"), x.cpu(), x.float(), x.type(tt.float32), x.type_as(x),
    ):  # fmt: skip
        assert same is x
    assert x.to(copy=True) is not x and x.to(tt.float32, False, True).data_ptr() != x.data_ptr()


def test_to_takes_all_of_pytorchs_forms():
    x, other = tt.tensor([1.7, -2.2]), tt.ones(1, dtype=tt.int32)
    for converted in (
        x.to(tt.int32), x.to("cpu", tt.int32), x.to(other), x.to(other=other), x.to(dtype=tt.int32),
        x.to(None, tt.int32),
        x.to(tt.int32, non_blocking=True), x.to(device="cpu", dtype=tt.int32, copy=True), x.int(), x.type(tt.int32),
        x.type("tt.IntTensor"), x.type_as(other),
    ):  # fmt: skip
        assert converted.dtype is tt.int32 and converted.tolist() == [1, -2]
    assert x.to(float).dtype is tt.float64 and x.to(int).dtype is tt.int64
    assert x.to("meta").is_meta and x.to("meta", tt.int8).dtype is tt.int8


@pytest.mark.parametrize(
    "call", ["x.to(tt.int32, 5)", "x.to(other=1)", "x.to(1.5)", "x.to(tt.int32, dtype=tt.int32)", "x.to(what=1)",
             "x.to('cpu', tt.int32, False, False, 1)"],
)  # fmt: skip
def test_to_refuses_what_fits_no_form(call):
    with pytest.raises(ArgumentError, match=r"signature: to\.device\(Tensor\(a\) self"):
        eval(call, {"x": tt.ones(2), "tt": tt})


def test_a_cuda_tensor_needs_cuda():
    if tt.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    with pytest.raises(RuntimeError, match="cuda"):
        tt.ones(2).cuda()
    with pytest.raises(RuntimeError, match="takes a device of cuda"):
        tt.ones(2).cuda("cpu")


@pytest.mark.parametrize(
    ("method", "dtype"),
    [
        ("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("int", "int32"),
        ("long", "int64"), ("short", "int16"), ("char", "int8"), ("byte", "uint8"), ("bool", "bool"),
        ("cfloat", "complex64"), ("cdouble", "complex128"),
    ],
)  # fmt: skip
def test_conversion_methods_are_named_after_c_types(method, dtype):
    assert getattr(tt.tensor([0, 1, 2]), method)().dtype is getattr(tt, dtype)


def test_type_names_dtype_and_device():
    assert tt.ones(2).type() == "tt.FloatTensor"
    assert tt.ones(2, dtype=tt.bfloat16).type() == "tt.BFloat16Tensor"
    assert tt.ones(2, device="meta").type() == "tt.meta.FloatTensor"


@pytest.mark.parametrize("kind", ["ipu", "mtia", "xpu"])
def test_a_method_moves_to_a_device_that_a_backend_serves(kind):
    x = tt.tensor([1.0, 2.0])
    with pytest.raises((ValueError, RuntimeError), match=kind):
        getattr(x, kind)()
    with device(np, kind):
        moved = getattr(x, kind)()
        assert moved.device.type == kind and moved.cpu().tolist() == [1.0, 2.0]
        assert getattr(moved, kind)() is moved
        with pytest.raises(RuntimeError, match=f"{kind}.. takes a device of {kind}, not cpu"):
            getattr(x, kind)("cpu")


def test_the_class_tensor_names_the_default_dtype():
    x = tt.ones(2, dtype=tt.int64)
    assert x.type(tt.Tensor).dtype is tt.float32
    with tt.default_dtype(tt.float64):
        assert x.type(tt.Tensor).dtype is tt.float64
    with pytest.raises((TypeError, RuntimeError)):
        x.type(tt.nn.Parameter)
