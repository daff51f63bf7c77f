"""Numbers that are converted to the dtype of the tensors have to be in its range, as in PyTorch."""

from __future__ import annotations

import pytest

import tt

CALLS = {
    "add": lambda m, x, n: m.add(x, x, alpha=n),
    "add_": lambda m, x, n: x.clone().add_(x, alpha=n),
    "sub": lambda m, x, n: x.sub(x, alpha=n),
    "rsub": lambda m, x, n: m.rsub(x, x, alpha=n),
    "addcmul": lambda m, x, n: m.addcmul(x, x, x, value=n),
    "addcdiv": lambda m, x, n: m.addcdiv(x, x, x, value=n),
    "addmm": lambda m, x, n: m.addmm(x, x, x, alpha=n),
    "addmm, beta": lambda m, x, n: m.addmm(x, x, x, beta=n),
    "addr": lambda m, x, n: m.addr(x, x[0], x[0], alpha=n),
    "leaky_relu": lambda m, x, n: m.nn.functional.leaky_relu(x, n),
    "elu": lambda m, x, n: m.nn.functional.elu(x, n),
    "celu": lambda m, x, n: m.nn.functional.celu(x, n),
    "hardshrink": lambda m, x, n: m.nn.functional.hardshrink(x, n),
    "threshold": lambda m, x, n: m.nn.functional.threshold(x, 0, n),
    "hardtanh": lambda m, x, n: m.nn.functional.hardtanh(x, -n, n),
    "softplus": lambda m, x, n: m.nn.functional.softplus(x, n),
    "lerp": lambda m, x, n: m.lerp(x, x, n),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_a_factor_beyond_the_dtype_is_refused(name, requires_grad):
    x = tt.ones(2, 2, requires_grad=requires_grad)
    for _ in range(2):  # the second time from what the first one has cached
        with pytest.raises(tt.errors.NumberRangeError, match="1e\\+300 is beyond the range of float32"):
            CALLS[name](tt, x, 1e300)
        CALLS[name](tt, x, 2.0)
    CALLS[name](tt, x.double(), 1e300)


@pytest.mark.parametrize("dtype", [tt.float16, tt.bfloat16], ids=str)
def test_narrow_dtypes_have_narrower_ranges(dtype):
    x = tt.ones(2, dtype=dtype)
    with pytest.raises(tt.errors.NumberRangeError, match="alpha="):
        tt.add(x, x, alpha=3.4e38)
    assert tt.add(x, x, alpha=float("inf")).tolist() == [float("inf")] * 2


def test_the_dtype_is_that_of_the_result():
    x, y = tt.ones(2), tt.ones(2, dtype=tt.float64)
    assert tt.add(x, y, alpha=1e300).tolist() == [1e300] * 2


@pytest.mark.torch
@pytest.mark.parametrize("name", CALLS)
def test_pytorch_refuses_the_same(name):
    torch = pytest.importorskip("torch")

    with pytest.raises(RuntimeError, match="without overflow"):
        CALLS[name](torch, torch.ones(2, 2), 1e300)


def test_operators_of_third_parties_decide_for_themselves():
    with tt.library.Library("factors", "DEF") as library:
        library.define("add(Tensor x, *, Scalar alpha=1, int n=0) -> Tensor")
        library.impl("add", lambda x, alpha, n: x * 0 + (alpha > 1e299), "cpu")
        assert tt.ops.factors.add(tt.ones(2), alpha=1e300).tolist() == [1.0, 1.0]
        with pytest.raises(tt.errors.NumberRangeError, match=r"n=.*64-bit"):
            tt.ops.factors.add(tt.ones(2), n=2**64)
