"""The kernels that work element by element, against PyTorch, in every dtype."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tt
from tt.core.types.dtype import DTYPES

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

# PyTorch has hardly any kernels for the wide unsigned integers; NumPy is the reference for them below.
COMMON = [d.name for d in DTYPES if d.name not in ("uint16", "uint32", "uint64")]
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    3.7,
    -3.7,
    20.0,
    -20.0,
    math.inf,
    -math.inf,
    math.nan,
]


def sample(dtype: str, seed: int = 0, shape: tuple[int, ...] = (3, 4)) -> torch.Tensor:
    """Return some numbers of a dtype: small ones, so that their powers fit."""
    kind = getattr(torch, dtype)
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randint(0 if dtype.startswith("u") else -4, 5, shape, generator=generator)
    if kind.is_complex:
        return torch.complex(numbers.double(), numbers.flip(0).double() / 2).to(kind)
    return (numbers / 2 if kind.is_floating_point else numbers).to(kind)


UNARY = [
    "neg", "abs", "sign", "square", "reciprocal", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tanh",
    "sigmoid", "erf", "floor", "ceil", "trunc", "round", "logical_not", "bitwise_not", "isnan", "isinf", "isfinite",
    "conj", "relu",
]  # fmt: skip
BINARY = [
    "add", "sub", "mul", "div", "floor_divide", "remainder", "pow", "maximum", "minimum", "eq", "ne", "lt", "le",
    "gt", "ge", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
]  # fmt: skip


@pytest.mark.parametrize("dtype", COMMON)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_argument(same, name, dtype):
    if (name, dtype) == ("square", "bool"):
        pytest.skip("PyTorch gives int64; tt refuses")
    same(lambda m, x: getattr(m, name)(x), sample(dtype))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", [name for name in UNARY if name != "bitwise_not"])
def test_special_values_of_one_argument(same, name, dtype):
    same(lambda m, x: getattr(m, name)(x), torch.tensor(SPECIAL, dtype=getattr(torch, dtype)))


@pytest.mark.parametrize("dtype", COMMON)
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arguments(same, name, dtype):
    if name == "pow" and "complex" in dtype:
        pytest.skip("0 to a negative complex power: NaN in different parts")
    same(lambda m, x, y: getattr(m, name)(x, y), sample(dtype), sample(dtype, 1, (4,)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", [name for name in BINARY if "bitwise" not in name])
def test_special_values_of_two_arguments(same, name, dtype):
    kind = getattr(torch, dtype)
    same(
        lambda m, x, y: getattr(m, name)(x, y),
        torch.tensor(SPECIAL, dtype=kind)[:, None],
        torch.tensor(SPECIAL, dtype=kind),
    )


@pytest.mark.parametrize("scalar", [2, -3, 0, 2.5, True, 1 + 2j], ids=str)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize(
    "name", [n for n in BINARY if n not in ("maximum", "minimum", "logical_and", "logical_or", "logical_xor")]
)
def test_a_python_number_as_second_argument(same, name, dtype, scalar):
    if dtype == "uint8" and scalar == -3 and name in ("lt", "le", "gt", "ge"):
        pytest.skip("PyTorch wraps the number to 253 before it compares; tt compares the numbers")
    if name == "sub" and (dtype == "bool" or scalar is True):
        pytest.skip("PyTorch refuses to subtract bools from numbers; tt promotes them")
    if (name, dtype, scalar) == ("pow", "bool", True):
        pytest.skip("PyTorch gives bools; tt refuses")
    if name == "pow" and "complex" in (dtype + type(scalar).__name__):
        pytest.skip("0 to a negative complex power: NaN in different parts")
    same(lambda m, x: getattr(m, name)(x, scalar), sample(dtype))


@pytest.mark.parametrize("alpha", [2, -1, 0.5, True])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("name", ["add", "sub"])
def test_alpha(same, name, dtype, alpha):
    if alpha is True and dtype != "bool":
        pytest.skip("PyTorch refuses it; tt takes it for the default, to which it is equal")
    same(lambda m, x, y: getattr(m, name)(x, y, alpha=alpha), sample(dtype), sample(dtype, 1))
    same(lambda m, x, y: getattr(x, name + "_")(y, alpha=alpha), sample(dtype), sample(dtype, 1))


@pytest.mark.parametrize("mode", ["floor", "trunc", None, "up"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float16", "float32", "float64"])
def test_division_with_rounding(same, mode, dtype):
    positive = torch.tensor([1, 2, 3, 4]).to(getattr(torch, dtype))
    same(lambda m, x, y: m.div(x, y, rounding_mode=mode), sample(dtype), positive)
    same(lambda m, x: m.div(x, -2, rounding_mode=mode), sample(dtype))


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_division_with_rounding_of_special_values(same, mode):
    special = torch.tensor(SPECIAL)
    same(lambda m, x, y: m.div(x, y, rounding_mode=mode), special[:, None], special)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_no_integers_may_be_divided_by_zero(name, dtype):
    for function in (getattr(tt, name), lambda x, y: getattr(x, name)(y)):
        x = tt.zeros(0, 2, dtype=getattr(tt, dtype))
        for divisor in (
            0,
            tt.zeros((), dtype=x.dtype),
            tt.zeros(1, 2, dtype=x.dtype),
            tt.zeros(1, dtype=x.dtype),
        ):
            assert function(x, divisor).shape == (0, 2)
    assert getattr(x, f"{name}_")(0) is x


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_an_integer_divided_by_zero_is_an_error(name, dtype):
    x = tt.tensor([1, 2], dtype=getattr(tt, dtype))
    for zero in (0, tt.tensor([1, 0], dtype=x.dtype)):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            getattr(tt, name)(x, zero)


@pytest.mark.parametrize(
    "bounds", [(-1, 2), (None, 1), (0, None), (2, -1), (0.5, None), (math.nan, 1.0), (None, None)]
)
@pytest.mark.parametrize("dtype", ["int32", "int64", "bfloat16", "float32"])
def test_clamp_to_numbers(same, dtype, bounds):
    same(lambda m, x: m.clamp(x, *bounds), sample(dtype))
    same(lambda m, x: m.clamp(x, min=bounds[0], max=bounds[1]), torch.tensor(SPECIAL))


def test_clamp_to_tensors(same):
    special = torch.tensor(SPECIAL)
    same(lambda m, x, low, high: m.clamp(x, low, high), special[:, None], special, torch.tensor(1.0))
    same(lambda m, x, high: x.clamp_(max=high), torch.tensor(SPECIAL), torch.full((16,), 2.0))


def test_clamp_without_a_bound_is_refused():
    for library in (tt, torch):
        x = library.ones(2)
        for call in (lambda: library.clamp(x), lambda: x.clip(), lambda: x.clamp_()):  # noqa: B023
            with pytest.raises(RuntimeError, match=r"min.+max"):
                call()


@pytest.mark.parametrize("decimals", [-1, 0, 2])
def test_round_to_decimals(same, decimals):
    same(
        lambda m, x: m.round(x, decimals=decimals),
        torch.tensor([12.345, -12.355, 5.0, 15.0, 0.125, math.nan]),
    )


def test_where_promotes(same):
    condition = torch.tensor([True, False, True])
    same(lambda m, c, x, y: m.where(c, x, y), condition, torch.arange(3), torch.ones(3))
    same(lambda m, c, x: m.where(c, x, 2.5), condition, torch.arange(3))
    same(lambda m, c: m.where(c, 1, 2.5), condition)
    same(lambda m, c: m.where(c, 1, 2), condition)
    same(lambda m, c, x: m.where(c, x, 0), torch.tensor([1, 0, 1]), torch.arange(3))


def test_where_wraps_negative_numbers_into_unsigned_dtypes(same):
    x = torch.tensor([1, 2], dtype=torch.uint8)
    same(lambda m, x: m.where(x > 1, x, -1), x)
    same(lambda m, x: m.where(x > 1, -255, x), x)


def test_the_result_keeps_the_order_of_dimensions_in_memory(same):
    x = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    same(lambda m, x: m.exp(x), x, strides=True)
    same(lambda m, x: m.add(x, x), x, strides=True)


@pytest.mark.parametrize("weight", [0.25, 0.5])
def test_lerp_keeps_the_order_of_its_first_argument(weight):
    for library in (tt, torch):
        x = library.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
        assert library.lerp(x, x.contiguous(), weight).stride() == x.stride()
        assert library.lerp(x.contiguous(), x, weight).is_contiguous()


def test_in_place_forms_change_the_tensor(same):
    same(lambda m, x, y: x.add_(y), sample("float32"), sample("float32", 1, (4,)))
    same(lambda m, x, y: x.mul_(y), sample("float16"), sample("float32", 1))
    same(lambda m, x: x.t().sub_(1), sample("int64"))
    same(lambda m, x: x.div_(2), sample("int64"))
    same(lambda m, x: x.exp_(), sample("bfloat16"))
    same(lambda m, x, y: x.add_(y), sample("float32", 0, (4,)), sample("float32"))


def test_isclose(same):
    x, y = torch.tensor([1.0, 2.0, math.nan, math.inf]), torch.tensor([1.0, 2.00001, math.nan, math.inf])
    for equal_nan in (False, True):
        same(lambda m, x, y, e=equal_nan: m.isclose(x, y, equal_nan=e), x, y)
        same(lambda m, x, y, e=equal_nan: m.allclose(x, y, equal_nan=e), x, y)
    same(lambda m, x, y: m.isclose(x, y, rtol=-1.0), x, y)
    same(lambda m, x, y: m.isclose(x, y), torch.arange(3), torch.arange(3))
    same(lambda m, x, y: m.equal(x, y), x, y)


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_wide_unsigned_integers(dtype):
    x, y = (tt.tensor(values, dtype=getattr(tt, dtype)) for values in ([7, 2, 250], [2, 3, 1]))
    assert (x + y).tolist() == [9, 5, 251] and (x * y).tolist() == [14, 6, 250]
    assert (x // y).tolist() == [3, 0, 250] and (x % y).tolist() == [1, 2, 0]
    assert (x > y).tolist() == [True, False, True] and (x - y).dtype is x.dtype


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64"]
)
def test_negating_in_place_reads_with_any_stride(dtype):
    for step in range(1, 17):
        x = tt.arange(19 * step).to(getattr(tt, dtype))[::step]
        expected = (-x.clone()).tolist()
        assert x.neg_().tolist() == expected


def test_rounding_integers_gives_a_copy_where_the_library_returns_its_argument(monkeypatch):
    import numpy as np

    rounded = np.round
    monkeypatch.setattr(np, "round", lambda x: x if x.dtype.kind in "iu" else rounded(x))
    numbers = tt.arange(3)
    found = tt.round(numbers)
    assert tt.equal(found, numbers) and found.data_ptr() != numbers.data_ptr()


@pytest.mark.parametrize("dtype", [tt.complex64, tt.complex128])
@pytest.mark.parametrize("exponent", [-1, -2, -3, -0.5])
def test_a_negative_power_of_a_complex_infinity_is_zero(dtype, exponent):
    infinite = [complex(math.inf, 0), complex(-math.inf, 0), complex(0, math.inf), complex(1, -math.inf)]
    base = tt.tensor([*infinite, 2j], dtype=dtype)
    result = tt.pow(base, tt.full((5,), exponent, dtype=dtype))
    assert result.dtype is dtype
    assert result[:4].tolist() == [0] * 4
    np.testing.assert_allclose(result[4].item(), 2j**exponent, rtol=1e-6)
    for one in infinite:
        assert tt.pow(tt.tensor(one, dtype=dtype), tt.tensor(exponent, dtype=dtype)).item() == 0
