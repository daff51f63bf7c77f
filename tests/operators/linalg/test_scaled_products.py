"""`_scaled_mm`: products of matrices of eight bits an element, with scales."""

import numpy as np
import pytest

import tt
from tt.core.errors import DtypeError, ShapeError

ONE = tt.tensor(1.0)


def factors(one=tt.float8_e4m3fn, two=tt.float8_e4m3fn, seed=0):
    random = np.random.default_rng(seed)
    a = tt.from_numpy(random.normal(size=(16, 32)).astype(np.float32)).to(one)
    b = tt.from_numpy(random.normal(size=(16, 32)).astype(np.float32)).to(two)
    return a, b.t()


def doubles(*tensors):
    return [tensor.double().numpy() for tensor in tensors]


@pytest.mark.parametrize("two", [tt.float8_e4m3fn, tt.float8_e5m2], ids=str)
def test_it_is_the_product_of_the_scaled_matrices(two):
    a, b = factors(two=two)
    scales = tt.rand(16, 1), tt.rand(1, 16)
    for left, right in ((tt.tensor(2.0), tt.tensor([[0.3]])), scales):
        left64, right64 = (
            s.double().numpy().reshape(s.shape if s.numel() > 1 else ()) for s in (left, right)
        )
        a64, b64 = doubles(a, b)
        found = tt._scaled_mm(a, b, left, right, out_dtype=tt.float32)
        np.testing.assert_allclose(found.numpy(), (a64 @ b64) * left64 * right64, rtol=1e-5, atol=1e-5)


def test_bias_and_scale_of_the_result():
    a, b = factors()
    bias = tt.arange(16.0).bfloat16()
    plain = tt._scaled_mm(a, b, ONE, ONE, out_dtype=tt.float32)
    found = tt._scaled_mm(a, b, ONE, ONE, bias, out_dtype=tt.float32)
    assert tt.equal(found, plain + tt.arange(16.0))
    half = tt._scaled_mm(a, b, ONE, ONE, scale_result=tt.tensor(0.5))
    assert half.dtype is tt.float8_e4m3fn
    assert tt.equal(half.float(), (plain * 0.5).to(tt.float8_e4m3fn).float())
    assert tt.equal(tt._scaled_mm(a, b, ONE, ONE, scale_result=ONE * 2, out_dtype=tt.float32), plain)


def test_results_of_every_dtype_and_out():
    a, b = factors()
    plain = tt._scaled_mm(a, b, ONE, ONE, out_dtype=tt.float32)
    for dtype in (tt.float16, tt.bfloat16, tt.float8_e5m2):
        found = tt._scaled_mm(a, b, ONE, ONE, out_dtype=dtype)
        assert found.dtype is dtype and tt.equal(found.float(), plain.to(dtype).float())
    out = tt.empty(16, 16)
    assert tt._scaled_mm(a, b, ONE, ONE, out_dtype=tt.float32, out=out) is out and tt.equal(out, plain)
    assert tt._scaled_mm(a.to("meta"), b.to("meta"), ONE.to("meta"), ONE.to("meta")).shape == (16, 16)


def test_wrong_arguments_say_what_is_wrong():
    a, b = factors()
    for args, kwargs, error, message in (
        ((a[0], b, ONE, ONE), {}, ShapeError, "self must be a matrix"),
        ((a, b[:16], ONE, ONE), {}, ShapeError, r"\[16, 32\] and \[16, 16\] cannot be multiplied"),
        ((a.float(), b, ONE, ONE), {}, DtypeError, r"not float32\n  try: self.to\(tt.float8_e4m3fn\)"),
        ((a, b.to(tt.float8_e4m3fnuz), ONE, ONE), {}, DtypeError, "mat2 must be of"),
        ((a, b, ONE, ONE), {"out_dtype": tt.int32}, DtypeError, "out_dtype must be"),
        (
            (a, b, tt.ones(16), tt.ones(16)),
            {},
            ShapeError,
            r"shapes \[16, 1\] and \[1, 16\]; they have \[16\]",
        ),
        ((a, b, ONE, ONE, tt.ones(3)), {}, ShapeError, "one number for each of 16 columns"),
    ):
        with pytest.raises(error, match=message):
            tt._scaled_mm(*args, **kwargs)


@pytest.mark.torch
def test_it_agrees_with_torch():
    torch = pytest.importorskip("torch")
    a, b = factors()
    theirs = torch.from_dlpack(a), torch.from_dlpack(b)
    rows, columns, bias = tt.rand(16, 1), tt.rand(1, 16), tt.randn(16)
    for out in ("float32", "bfloat16", "float16"):
        mine = tt._scaled_mm(a, b, rows, columns, bias, out_dtype=getattr(tt, out))
        same = torch._scaled_mm(
            *theirs, *map(torch.from_dlpack, (rows, columns, bias)), out_dtype=getattr(torch, out)
        )
        np.testing.assert_allclose(mine.float().numpy(), same.float().numpy(), rtol=1e-2, atol=1e-5)
