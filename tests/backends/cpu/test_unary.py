"""Elementary functions of one argument, against PyTorch, where the samples do not reach."""

from __future__ import annotations

import math

import pytest

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

FUNCTIONS = (
    "exp2", "log2", "log10", "sinh", "cosh", "tan", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sinc", "sgn",
    "angle", "frac", "deg2rad", "rad2deg", "signbit", "isposinf", "isneginf", "isreal", "nan_to_num",
)  # fmt: skip
REAL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -20.0, 1e-8, 1e8, -1e30, math.inf, -math.inf, math.nan]
AROUND_CUTS = [complex(a, b) for a in (2.0, -2.0, 0.5, 0.0, -0.0) for b in (0.0, -0.0, 2.0, -2.0)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_extreme_numbers(same, name, dtype):
    same(lambda m, x: getattr(m, name)(x), torch.tensor(REAL, dtype=getattr(torch, dtype)))


@pytest.mark.parametrize("name", ["exp2", "log2", "log10", "sinh", "cosh", "tan", "asin", "acos", "atan", "asinh",
                                  "acosh", "atanh", "sgn", "angle"])  # fmt: skip
def test_both_sides_of_branch_cuts(same, name):
    values = [z for z in AROUND_CUTS if z or not name.startswith("log")]
    same(lambda m, x: getattr(m, name)(x), torch.tensor(values, dtype=torch.complex128))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64"])
@pytest.mark.parametrize("name", [f for f in FUNCTIONS if f != "frac"])
def test_integers(same, name, dtype):
    same(lambda m, x: getattr(m, name)(x), torch.tensor([0, 1, 1]).to(getattr(torch, dtype)))


def test_fractions_are_of_floating_point_numbers_only(same):
    same(lambda m, x: m.frac(x), torch.tensor([1, 2]))


def test_squares_of_bools_are_int64(same):
    same(lambda m, x: m.square(x), torch.tensor([True, False]))
    same(lambda m, x: x.square_(), torch.tensor([True, False]))
    assert tt.square(tt.tensor([True], device="meta")).dtype is tt.int64


def test_positive_is_the_tensor_itself(same):
    x = tt.tensor([1.0])
    assert tt.positive(x) is x
    same(lambda m, x: m.positive(x), torch.tensor([True]))


def test_numbers_in_the_place_of_what_is_none(same):
    x = torch.tensor([math.nan, math.inf, -math.inf, 1.0])
    same(lambda m, x: m.nan_to_num(x, 1.0, 2.0, 3.0), x)
    same(lambda m, x: x.nan_to_num_(posinf=5.0), x.half())
    same(lambda m, x: m.nan_to_num(x), x.bfloat16())
    same(lambda m, x: m.nan_to_num(x, 7.0), torch.complex(x, x.flip(0)))


@pytest.mark.parametrize(("name", "alias"), [("asin", "arcsin"), ("acos", "arccos"), ("atan", "arctan"),
                         ("asinh", "arcsinh"), ("acosh", "arccosh"), ("atanh", "arctanh")])  # fmt: skip
def test_names_with_arc(name, alias):
    x = tt.tensor([0.5])
    assert getattr(tt, alias)(x).equal(getattr(tt, name)(x)) or name == "acosh"
    assert hasattr(x, alias)
    assert hasattr(x, f"{alias}_")


@pytest.mark.parametrize("name", ["neg", "sign", "floor", "frac", "isposinf", "signbit"])
def test_out_has_the_dtype_of_the_result(same, name):
    same(lambda m, x: getattr(m, name)(x, out=m.zeros(2, dtype=m.float64)), torch.tensor([1.5, -2.5]))
