"""Numbers have to be in range, as in PyTorch: integers of 64 bits, and of the dtype to which numbers are converted."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.schema.number_ranges import of_any_width
from tt.testing.samples import samples

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
    "clamp, min": lambda m, x, n: m.clamp(x, n),
    "clamp, max": lambda m, x, n: m.clamp(x, max=n),
    "clamp_": lambda m, x, n: x.clone().clamp_(-n),
    "clamp_min": lambda m, x, n: m.clamp_min(x, n),
    "clamp_max": lambda m, x, n: x.clamp_max(n),
    "where": lambda m, x, n: m.where(x > 0, x, n),
    "where, number first": lambda m, x, n: m.where(x > 0, -n, x),
    "histc": lambda m, x, n: m.histc(x.detach(), 2, 0, n),
    "index_add": lambda m, x, n: m.index_add(x, 0, m.tensor([0, 1]), x, alpha=n),
    "linspace": lambda m, x, n: m.linspace(0, n, 3, dtype=x.dtype),
    "linspace, start": lambda m, x, n: m.linspace(n, 0, 3, dtype=x.dtype),
    "uniform_": lambda m, x, n: m.zeros_like(x).uniform_(0, n),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_a_factor_beyond_the_dtype_is_refused(name, requires_grad):
    x = tt.ones(2, 2, requires_grad=requires_grad)
    for _ in range(2):  # the second time from the cache of the first
        with pytest.raises(tt.errors.NumberRangeError, match=r"=-?1e\+300 is beyond the range of float32"):
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

    with pytest.raises(RuntimeError, match=r"without overflow|out of bounds"):
        CALLS[name](torch, torch.ones(2, 2), 1e300)


@pytest.mark.parametrize("name", CALLS)
def test_fake_tensors_refuse_the_same(name):
    x = tt.ones(2, 2)
    with tt.fake_mode(), pytest.raises(tt.errors.NumberRangeError, match="is beyond the range of float32"):
        CALLS[name](tt, x, 1e300)


def test_bounds_of_half_precision_are_those_of_the_dtype_or_of_the_computation():
    x = tt.ones(2, dtype=tt.float16)
    with pytest.raises(tt.errors.NumberRangeError, match=r"max=70000\.0 is beyond the range of float16"):
        x.clamp(max=70000.0)
    with pytest.raises(tt.errors.NumberRangeError, match="max=70000 "):
        x.clamp(max=70000)
    assert tt.lerp(x, x, 70000.0).tolist() == [1, 1]
    assert tt.where(x > 1, x, -1e9).tolist() == [-float("inf")] * 2
    assert x.clamp(max=float("inf")).tolist() == [1, 1]


@pytest.mark.parametrize("call", [
    lambda x: x.clamp(max=300),
    lambda x: tt.nn.functional.threshold(x, 300, 0),
    lambda x: tt.nn.functional.threshold(x, 0, float("nan")),
    lambda x: tt.addcmul(x, x, x, value=300),
    lambda x: tt.linspace(0, 300, 3, dtype=x.dtype),
])  # fmt: skip
def test_integers_have_ranges_too(call):
    for _ in range(2):
        with pytest.raises(tt.errors.NumberRangeError, match="is beyond the range of int8"):
            call(tt.ones(2, dtype=tt.int8))


def test_numbers_within_the_range_of_a_promoted_dtype_are_taken():
    assert tt.ones(2, dtype=tt.int8).clamp(max=3e38).dtype == tt.float32
    with tt.fake_mode():
        assert tt.ones(2, dtype=tt.int8).clamp(max=300.5).dtype == tt.float32
    assert tt.ones(2, dtype=tt.bool).clamp(max=300).tolist() == [1, 1]
    assert tt.ones(2, dtype=tt.int64).clamp(max=2**63 - 1).tolist() == [1, 1]


def test_operators_of_third_parties_decide_for_themselves():
    with tt.library.Library("factors", "DEF") as library:
        library.define("add(Tensor x, *, Scalar alpha=1, int n=0) -> Tensor")
        library.impl("add", lambda x, alpha, n: x * 0 + (alpha > 1e299), "cpu")
        assert tt.ops.factors.add(tt.ones(2), alpha=1e300).tolist() == [1.0, 1.0]
        with pytest.raises(tt.errors.NumberRangeError, match=r"n=.*64-bit"):
            tt.ops.factors.add(tt.ones(2), n=2**64)


def test_a_tensor_of_one_number_is_in_the_range_of_single_precision():
    for number, dtype in ((1e300, None), (-1e39, tt.float32), (10**39, tt.float32), (1e39, tt.bfloat16)):
        with pytest.raises(tt.errors.NumberRangeError, match="beyond the range of"):
            tt.scalar_tensor(number, dtype=dtype)
    assert tt.scalar_tensor(1e5, dtype=tt.float16).isinf() and tt.scalar_tensor(tt.inf).isinf()
    assert tt.scalar_tensor(1e300, dtype=tt.float64).item() == 1e300
    # An operand is rounded, and not refused.
    assert (1e300 // tt.ones(2)).isnan().all() and (1e300 / tt.ones(2)).isinf().all()
    x = tt.ones(2, requires_grad=True)
    assert tt.autograd.grad(tt.xlogy(x, 1e300).sum(), x)[0].isinf().all()


# --- integers that 64 bits do not hold -------------------------------------------------------------------------------

B = 2**63
WIDE = {
    "a step": (lambda x: x[::B], "step"),
    "a step of columns": (lambda x: x[:, ::B], "step"),
    "slice": (lambda x: tt.ops.slice(x, 0, 0, 2, B), "step"),
    "roll": (lambda x: x.roll(B), "shifts"),
    "roll backwards": (lambda x: x.roll(-B - 1, 0), "shifts"),
    "roll of several": (lambda x: x.roll((1, B), (0, 1)), "shifts"),
    "tril": (lambda x: x.tril(-B - 1), "diagonal"),
    "diagonal": (lambda x: x.diagonal(B), "offset"),
    "unfold": (lambda x: x.unfold(0, 1, B), "step"),
}


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("dtype", [tt.float32, tt.int64], ids=str)
@pytest.mark.parametrize("call", WIDE)
def test_an_integer_that_64_bits_do_not_hold_is_refused_by_name(call, dtype, device):
    run, name = WIDE[call]
    x = tt.zeros(2, 3, dtype=dtype, device=device)
    with pytest.raises(tt.errors.NumberRangeError, match=rf"\(\): {name}=-?922.* is not a 64-bit integer"):
        run(x)


def calls_with(operator: Any) -> Any:
    """Yield the first sample that gives each integer, with that one replaced: name, args, kwargs."""
    arguments, seen = operator.definition.signature.arguments, set()
    for sample in samples(operator.definition):
        given = dict(zip((a.name for a in arguments), sample.args, strict=False))
        for argument in arguments:
            name = argument.name
            value = given[name] if name in given else sample.kwargs.get(name)
            if argument.type.base != "int" or name in seen or value is None:
                continue
            seen.add(name)
            wide = B if not argument.type.list else (B,) if isinstance(value, int) else (*value[:-1], B)
            args = [
                wide if n == name and i < len(sample.args) else v for i, (n, v) in enumerate(given.items())
            ]
            yield name, args, {n: wide if n == name else v for n, v in sample.kwargs.items()}


def takes_integers(operator: Any) -> bool:
    signature = operator.definition.signature
    return any(a.type.base == "int" for a in signature.arguments) and not of_any_width(signature)


OPERATORS = [n for n in REGISTRY.names() if takes_integers(REGISTRY.operator(n))]


@pytest.mark.parametrize("name", OPERATORS)
def test_no_operator_takes_a_wide_integer(name):
    operator = REGISTRY.operator(name)
    for argument, args, kwargs in calls_with(operator):
        with pytest.raises(tt.errors.NumberRangeError, match=f"{argument}=.*64-bit"):
            operator.overload("functional")(*args, **kwargs)


def test_bounds_of_random_values_are_as_wide_as_uint64():
    assert tt.randint(B, 2 * B - 1, (3,), dtype=tt.uint64).shape == (3,)


@pytest.mark.parametrize("native", ["0", "1"])
def test_a_step_is_refused_where_slices_are_cached(native):
    program = (
        "import tt; x = tt.zeros(2, 3)\n"
        "for step in (2, 2, 2**63):\n"
        "    try: x[:, ::step]; x[::step]\n"
        "    except tt.errors.NumberRangeError: print('refused', step == 2**63)\n"
    )
    environment = {**os.environ, "TT_NATIVE": native}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "refused True\n"


def test_fake_tensors_refuse_it_too():
    with tt.fake_mode(), pytest.raises(tt.errors.NumberRangeError, match="shifts="):
        tt.zeros(2, 3).roll(B)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(
    "call",
    [
        lambda x: x[B],
        lambda x: x[-B - 1],
        lambda x: x.select(0, B),
        lambda x: x.narrow(0, B, 1),
        lambda x: x.narrow(0, 0, B),
    ],
)
def test_a_place_beyond_all_tensors_is_no_raw_error(call, device):
    with pytest.raises(tt.errors.TTError):
        call(tt.zeros(2, 3, device=device))


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_ends_of_slices_are_cut_as_in_python(device):
    x = tt.zeros(2, 3, device=device)
    assert [tuple(x[s].shape) for s in (slice(B, None), slice(None, B), slice(-B - 1, None), slice(None, -B - 1))] == [
        (0, 3), (2, 3), (2, 3), (0, 3)
    ]  # fmt: skip
    assert tuple(x[:: B - 1].shape) == (1, 3)


@pytest.mark.torch
def test_pytorch_refuses_wide_integers():
    torch = pytest.importorskip("torch")

    x = torch.zeros(2, 3)
    for run, _ in [WIDE[name] for name in ("roll", "roll backwards", "tril", "diagonal", "unfold")]:
        with pytest.raises((ValueError, RuntimeError, OverflowError)):
            run(x)
