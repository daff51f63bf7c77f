"""Operators of two and three tensors where they are easily wrong: limits, signs, infinities, half precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tt

INF, NAN = math.inf, math.nan


@pytest.fixture(params=["kernels", "composites"])
def both_ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run a test with the CPU's kernels, and with composites in their place."""
    if request.param == "kernels":
        yield
    else:
        with tt.mask_kernels("@non-core"):
            yield


def values(tensor: Any) -> Any:
    return np.array(
        tensor.to(tt.float64).numpy() if tensor.dtype in (tt.bfloat16, tt.float16) else tensor.numpy()
    )


def same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(values(found), np.array(expected))


# --- logarithms and lengths ------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [tt.logaddexp, tt.logaddexp2])
def test_sums_of_powers_with_infinities(function: Callable[..., Any], both_ways: None) -> None:
    a, b = tt.tensor([INF, -INF, INF, -INF, 0.0, NAN]), tt.tensor([INF, -INF, -INF, 1.0, INF, 1.0])
    same(function(a, b), [INF, -INF, INF, 1.0, INF, NAN])


def test_sums_of_powers_do_not_overflow(both_ways: None) -> None:
    assert tt.logaddexp(tt.tensor([1e30]), tt.tensor([1e30])).item() == pytest.approx(1e30)
    assert tt.logaddexp2(tt.tensor([-1e4]), tt.tensor([-1e4])).item() == -9999.0
    # Cancellation would lose the small one.
    x = tt.tensor([0.0, -40.0], dtype=tt.float64)
    assert tt.logaddexp(x[0], x[1]).item() == pytest.approx(math.log1p(math.exp(-40)), rel=1e-12)


def test_complex_sums_of_powers(both_ways: None) -> None:
    a, b = tt.tensor([1 + 2j, -INF + 0j]), tt.tensor([0.5 - 1j, -INF + 0j])
    found = tt.logaddexp(a, b).numpy()
    np.testing.assert_allclose(found[0], np.log(np.exp(1 + 2j) + np.exp(0.5 - 1j)), rtol=1e-6)
    assert found[1].real == -INF


@pytest.mark.parametrize("dtype", [tt.float32, tt.float64])
def test_hypot_neither_overflows_nor_underflows(dtype: tt.dtype, both_ways: None) -> None:
    limits = tt.finfo(dtype)
    large, small = limits.max / 2, limits.tiny * 4
    found = values(tt.hypot(tt.tensor([3.0, large, small, INF, NAN, 0.0, NAN], dtype=dtype),
                            tt.tensor([4.0, large, small, NAN, -INF, 0.0, 1.0], dtype=dtype)))  # fmt: skip
    np.testing.assert_allclose(
        found, [5.0, large * math.sqrt(2), small * math.sqrt(2), INF, INF, 0.0, NAN], rtol=1e-6
    )


def test_products_with_a_logarithm_of_zero(both_ways: None) -> None:
    zeros = tt.tensor([0.0, 0.0, 0.0, 1.0])
    same(tt.xlogy(zeros, tt.tensor([0.0, INF, NAN, 0.0])), [0.0, 0.0, NAN, -INF])
    same(tt.special.xlog1py(zeros, tt.tensor([-1.0, INF, NAN, -1.0])), [0.0, 0.0, NAN, -INF])
    same(tt.xlogy(0, tt.tensor([0.0, 2.0])), [0.0, 0.0])
    same(tt.xlogy(tt.tensor([0, 1]), 0), [0.0, -INF])
    assert tt.special.xlog1py(tt.tensor(1.0, dtype=tt.float64), 1e-20).item() == 1e-20


# --- division --------------------------------------------------------------------------------------------------


def test_signs_of_remainders(both_ways: None) -> None:
    a, b = [7, -7, 7, -7], [3, 3, -3, -3]
    for dtype in (tt.int64, tt.float32, tt.int8):
        x, y = tt.tensor(a, dtype=dtype), tt.tensor(b, dtype=dtype)
        same(tt.fmod(x, y), [1, -1, 1, -1])
        same(tt.remainder(x, y), [1, 2, -2, -1])
        same(tt.floor_divide(x, y), [2, -3, -3, 2])
        same(tt.div(x, y, rounding_mode="trunc"), [2, -2, -2, 2])


def test_remainders_of_infinities_and_by_zero(both_ways: None) -> None:
    a, b = tt.tensor([5.0, -5.0, INF, 5.0, -5.0]), tt.tensor([0.0, INF, 2.0, -INF, -INF])
    same(tt.fmod(a, b), [NAN, -5.0, NAN, 5.0, -5.0])
    same(tt.remainder(a, b), [NAN, INF, NAN, -INF, -5.0])
    same(tt.floor_divide(a, b), [INF, -1.0, NAN, -1.0, 0.0])
    # A remainder of a small negative number is that number, not what rounding leaves of the divisor.
    assert tt.fmod(tt.tensor([-1e-20], dtype=tt.float64), 1.0).item() == -1e-20


@pytest.mark.parametrize("function", [tt.fmod, tt.remainder, tt.floor_divide])
def test_integers_are_not_divided_by_zero(function: Callable[..., Any], both_ways: None) -> None:
    for divisor in (0, tt.tensor([1, 0])):
        with pytest.raises(ZeroDivisionError):
            function(tt.tensor([1, 2]), divisor)
        with pytest.raises(RuntimeError):
            function(tt.tensor([1, 2]), divisor)


def test_the_smallest_integer_divided_by_minus_one(both_ways: None) -> None:
    smallest = tt.tensor([-(2**63)])
    same(tt.remainder(smallest, -1), [0])
    same(tt.fmod(smallest, -1), [0])


# --- integers --------------------------------------------------------------------------------------------------


def test_divisors_and_multiples_at_the_limits(both_ways: None) -> None:
    lowest = -(2**63)
    same(tt.gcd(tt.tensor([lowest, lowest, 0, 0, 6, lowest]), tt.tensor([lowest, 0, 0, 5, -4, 6])),
         [lowest, lowest, 0, 5, 2, 2])  # fmt: skip
    same(tt.lcm(tt.tensor([0, 6, -4, 1]), tt.tensor([5, 0, 6, -1])), [0, 0, 12, 1])
    same(tt.gcd(tt.tensor([200], dtype=tt.uint8), tt.tensor([150], dtype=tt.uint8)), [50])
    # Fibonacci numbers take Euclid the most steps.
    same(tt.gcd(tt.tensor([7540113804746346429]), tt.tensor([4660046610375530309])), [1])


def test_shifts_beyond_all_bits() -> None:
    x = tt.tensor([1, 2, -1, -8, 3])
    places = tt.tensor([63, 64, 65, -1, 1])
    same(x << places, [-(2**63), 0, 0, 0, 6])
    same(x >> places, [0, 0, -1, -1, 1])
    same(tt.tensor([200], dtype=tt.uint8) << 1, [144])
    same(tt.tensor([200], dtype=tt.uint8) >> 9, [0])
    same(2 << tt.tensor([1, 2]), [4, 8])
    same(tt.bitwise_right_shift(-9, tt.tensor([2])), [-3])
    y = tt.tensor([1, 2])
    y <<= 3
    y >>= tt.tensor([1, 2])
    same(y, [4, 4])
    for wrong in (lambda: tt.ones(2) << 1, lambda: x << 1.0, lambda: tt.tensor([True]) << tt.tensor([True])):
        with pytest.raises(NotImplementedError):
            wrong()


def test_negative_powers_of_integers() -> None:
    same(tt.pow(tt.tensor([2, 1, -1, -1, 0]), tt.tensor([-1, -1, -3, -2, -1])), [0, 1, -1, 1, 0])
    same(tt.pow(2, tt.tensor([-1, 3])), [0, 8])
    with pytest.raises(RuntimeError, match="negative integer powers"):
        tt.pow(tt.tensor([2]), -1)
    found = tt.float_power(tt.tensor([2, 4]), -1)
    assert found.dtype is tt.float64
    same(found, [0.5, 0.25])
    assert tt.float_power(tt.tensor([-1.0]), 0.5).isnan().item()
    assert tt.float_power(tt.tensor([2]), 1j).dtype is tt.complex128


def test_numbers_beyond_the_dtype() -> None:
    x = tt.tensor([1, 100], dtype=tt.int8)
    same(x + 300, [45, -112])  # as everywhere, integers wrap around
    for wrong in (
        lambda: x.clamp(max=300),
        lambda: x.clamp_min(-300),
        lambda: x**300,
        lambda: x.addcmul(x, x, value=300),
    ):
        with pytest.raises(RuntimeError, match=r"beyond the range of int8|out of bounds for int8"):
            wrong()


# --- floating point numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [tt.bfloat16, tt.float16, tt.float32, tt.float64])
def test_the_next_number(dtype: tt.dtype) -> None:
    one, up, down = (tt.tensor([v], dtype=dtype) for v in (1.0, INF, -INF))
    info = tt.finfo(dtype)
    same(tt.nextafter(one, up) - 1, [info.eps])
    same(tt.nextafter(one, down), [1 - info.eps / 2])
    same(tt.nextafter(up, down), [info.max])
    same(tt.nextafter(one, one), [1.0])
    assert values(tt.nextafter(one * 0, up))[0] == info.tiny * info.eps  # the smallest subnormal number
    assert tt.nextafter(one, one * NAN).isnan().item()


@pytest.mark.parametrize("dtype", [tt.bfloat16, tt.float16, tt.float32, tt.float64])
def test_mantissa_and_exponent(dtype: tt.dtype, both_ways: None) -> None:
    info = tt.finfo(dtype)
    x = tt.tensor(
        [0.0, 1.0, -3.0, 0.5, info.max, info.tiny, info.tiny * info.eps, 1 - info.eps / 2], dtype=dtype
    )
    mantissa, exponent = tt.frexp(x)
    assert (mantissa.dtype, exponent.dtype) == (dtype, tt.int32)
    expected = np.frexp(values(x).astype(np.float64))
    same(mantissa, expected[0])
    same(exponent, expected[1])
    same(tt.ldexp(mantissa, exponent), values(x))
    special = tt.frexp(tt.tensor([INF, -INF, NAN], dtype=dtype))
    same(special.mantissa, [INF, -INF, NAN])
    same(special.exponent, [0, 0, 0])


def test_far_exponents(both_ways: None) -> None:
    x = tt.tensor([1e-40, 1e38, 1e-45, 0.0, INF, 3.0])
    found = tt.ldexp(x, tt.tensor([200, -200, 276, 5000, -5000, -150]))
    same(found, np.ldexp(x.numpy(), [200, -200, 276, 5000, -5000, -150]))
    found = tt.ldexp(tt.tensor([1.0, 2.0], dtype=tt.float64), tt.tensor([-1074, 1024]))
    same(found, [5e-324, INF])
    assert tt.ldexp(tt.tensor([1, 2]), tt.tensor([1, 2])).dtype is tt.float32
    assert tt.ldexp(tt.tensor([1.0]), tt.tensor([0.5])).item() == pytest.approx(math.sqrt(2))


def test_signs_of_zeros_and_nan() -> None:
    found = tt.copysign(tt.tensor([1.0, -2.0, NAN, 0.0]), tt.tensor([-0.0, 0.0, -1.0, -1.0]))
    assert np.signbit(found.numpy()).tolist() == [True, False, True, True]
    same(tt.copysign(tt.tensor([1, 2]), -1), [-1.0, -2.0])
    same(tt.atan2(tt.tensor([0.0, -0.0, 0.0, -0.0]), tt.tensor([-0.0, -0.0, 0.0, 0.0])),
         np.float32([math.pi, -math.pi, 0.0, -0.0]))  # fmt: skip


def test_the_step_at_zero(both_ways: None) -> None:
    x = tt.tensor([-1.0, 0.0, -0.0, 2.0, NAN])
    same(tt.heaviside(x, tt.tensor(0.5)), [0.0, 0.5, 0.5, 1.0, 0.0])
    same(tt.heaviside(x[1:2], tt.tensor([NAN])), [NAN])
    with pytest.raises(RuntimeError, match="dtype"):
        tt.heaviside(x, tt.tensor(0.5, dtype=tt.float64))


def test_nan_is_passed_over_or_on(both_ways: None) -> None:
    a, b = tt.tensor([1.0, NAN, NAN, 2.0]), tt.tensor([NAN, 2.0, NAN, 1.0])
    same(tt.fmax(a, b), [1.0, 2.0, NAN, 2.0])
    same(tt.fmin(a, b), [1.0, 2.0, NAN, 1.0])
    same(tt.maximum(a, b), [NAN, NAN, NAN, 2.0])
    same(tt.clamp_min(a, 1.5), [1.5, NAN, NAN, 2.0])
    same(tt.clamp_max(a, b), [NAN, NAN, NAN, 1.0])
    assert tt.clamp_max(tt.tensor([1, 2]), 1.5).dtype is tt.float32


# --- three tensors ---------------------------------------------------------------------------------------------


def test_interpolation_meets_both_ends(both_ways: None) -> None:
    start, end = tt.tensor([1e8, 0.1]), tt.tensor([-1.0, 0.7])
    assert tt.lerp(start, end, 0).equal(start)
    assert tt.lerp(start, end, 1).equal(end)
    assert tt.lerp(start, end, tt.tensor([1.0, 0.0])).tolist() == [end[0].item(), start[1].item()]
    assert tt.lerp(start, end, tt.tensor(1.0, dtype=tt.float64)).equal(end)
    for wrong in (tt.tensor([0.5], dtype=tt.float64), 1j):
        with pytest.raises(RuntimeError):
            tt.lerp(start, end, wrong)


def test_scaled_products_and_quotients(both_ways: None) -> None:
    ones = tt.tensor([1, 1])
    same(tt.addcmul(ones, tt.tensor([2, 3]), tt.tensor([4, 5]), value=-1), [-7, -14])
    same(tt.addcmul(ones, ones, ones, value=0.5), [1, 1])  # the value is an integer, too
    same(tt.addcdiv(tt.tensor([1.0]), tt.tensor([3.0]), tt.tensor([0.0])), [INF])
    for wide in (tt.ones(2), tt.ones(2, dtype=tt.float64), tt.ones(2, dtype=tt.bfloat16)):
        for call in (tt.addcdiv, tt.Tensor.addcdiv_):
            call(wide, wide, wide)  # the kernel of floats serves these
            with pytest.raises(RuntimeError, match="integers"):
                call(wide, ones, ones)
    same(tt.addcdiv(tt.ones(2), tt.tensor([6, 3]), tt.tensor(2.0)), [4, 2.5])
    same(tt.addcdiv(ones, tt.tensor([6.0]), ones, value=0.5), [4, 4])
    with pytest.raises(RuntimeError, match="cannot be converted"):
        tt.addcdiv(tt.ones(2), tt.ones(2), tt.ones(2), value=1j)
    with pytest.raises(RuntimeError, match="cannot be converted"):
        tt.addcmul(tt.ones(2), tt.ones(2), tt.ones(2), value=1j)
    # Half precision is rounded once.
    half = [tt.tensor([v], dtype=tt.bfloat16) for v in (-8.5, 3.0, 0.34)]
    exact = -8.5 + 3.0 / half[2].item()
    assert tt.addcdiv(*half).item() == tt.tensor(exact, dtype=tt.bfloat16).item()


# --- complex numbers as pairs ----------------------------------------------------------------------------------


def test_pairs_share_memory() -> None:
    z = tt.tensor([[1 + 2j, 3 + 4j], [5 + 6j, 7 + 8j]])
    pairs = tt.view_as_real(z.t())
    assert (pairs.shape, pairs.stride()) == ((2, 2, 2), (2, 4, 1))
    pairs[0, 1, 0] = 50
    assert z[1, 0].item() == 50 + 6j
    again = tt.view_as_complex(pairs)
    assert again.equal(z.t())
    assert again.data_ptr() == z.data_ptr()
    assert tt.view_as_complex(tt.zeros(0, 2)).shape == (0,)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: tt.ones(3), "size 2"),
        (lambda: tt.ones(()), "size 2"),
        (lambda: tt.ones(2, 3).t(), "last stride must be 1"),
        (lambda: tt.ones(6)[1:3], "storage offset must be even"),
        (lambda: tt.ones(9).as_strided((2, 2), (3, 1)), "but the last must be even"),
        (lambda: tt.ones(2, dtype=tt.int64), "float"),
    ],
)
def test_what_is_no_pair(wrong: Callable[[], Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        tt.view_as_complex(wrong())
    with pytest.raises(RuntimeError, match="complex"):
        tt.view_as_real(tt.ones(2))


# --- methods and operators -------------------------------------------------------------------------------------


def test_where_as_a_method_takes_the_condition_first() -> None:
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    found = x.where(tt.tensor([True, False]), 5)
    assert found.tolist() == [1.0, 5.0]
    found.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]


def test_reflected_operators() -> None:
    x = tt.tensor([1, 2, 4])
    same(10 - x, [9, 8, 6])
    same(2**x, [2, 4, 16])
    same(9 % x, [0, 1, 1])
    same(9 // x, [9, 4, 2])
    same(8 / x, [8.0, 4.0, 2.0])
    same(1.5 - x, [0.5, -0.5, -2.5])
    same(6 & x, [0, 2, 4])
    same(x.__rsub__(tt.tensor([1])), [0, -1, -3])
    same(x.__rpow__(tt.tensor([2])), [2, 4, 16])
    same(tt.bitwise_or(8, x), [9, 10, 12])


# --- numbers that wrap -------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize("number", [-1, -129, -255])
@pytest.mark.parametrize(
    "call",
    [
        lambda t, x, number: t.clamp(x, number),
        lambda t, x, number: t.clamp(x, max=number),
        lambda t, x, number: t.clamp(x, number, 50),
        lambda t, x, number: t.clamp_min(x, number),
        lambda t, x, number: t.clamp_max(x, number),
        lambda t, x, number: t.addcmul(x, x, x, value=number),
    ],
    ids=["min", "max", "both", "clamp_min", "clamp_max", "addcmul"],
)
def test_negative_numbers_wrap_into_unsigned_bytes(
    both_ways: None, call: Callable[..., Any], number: int
) -> None:
    torch = pytest.importorskip("torch")
    values = [1, 100, 200]
    expected = call(torch, torch.tensor(values, dtype=torch.uint8), number)
    found = call(tt, tt.tensor(values, dtype=tt.uint8), number)
    assert (found.dtype, found.tolist()) == (tt.uint8, expected.tolist())
