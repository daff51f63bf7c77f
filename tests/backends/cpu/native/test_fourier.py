"""Native Fourier transforms: agreement with SciPy in double precision, dimensions, norms, neighbours, threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import fft

import tt
from tt.backends.cpu import fft as numpy_kernels
from tt.backends.cpu.native.loading import load, status

NATIVE: Any = load("fourier")

pytestmark = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")

LENGTHS = [
    1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 20, 25, 27, 32, 36, 45, 60, 64, 75, 100, 128, 243, 256, 360, 512, 625, 1000,
    1024,
]  # fmt: skip
NORMS = ["backward", "ortho", "forward"]
DTYPES = ["complex64", "complex128"]


def drawn(*shape: int, dtype: Any, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    x = random.standard_normal(shape)
    return (x + 1j * random.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def wide(x: Any) -> Any:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def agree(found: Any, expected: Any, length: int) -> None:
    """Compare each line with its own size: rounding errors grow with the number of stages."""
    assert found.shape == expected.shape
    eps = float(np.finfo(found.dtype).eps)
    size = np.sqrt(np.mean(np.abs(expected) ** 2))
    assert np.abs(found - expected).max() <= eps * (2 + 2 * np.log2(length)) * max(size, 1e-30)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("forward", [True, False])
def test_lines_of_every_radix(length, dtype, forward):
    x = drawn(37, length, dtype=dtype)  # no whole number of vectors
    expected = (fft.fft if forward else fft.ifft)(wide(x))
    found = NATIVE._fft_c2c(x, (1,), "backward", forward)
    assert found.dtype == x.dtype
    agree(found, expected, length)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
def test_columns_of_every_radix(length, dtype):
    x = drawn(2, length, 19, dtype=dtype)
    agree(NATIVE._fft_c2c(x, (1,), "backward", True), fft.fft(wide(x), axis=1), length)
    agree(NATIVE._fft_c2c(x, (1,), "backward", False), fft.ifft(wide(x), axis=1), length)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [2 * n for n in LENGTHS])
def test_real_lines_and_back(length, dtype):
    x = drawn(21, length, dtype=dtype)
    half = NATIVE._fft_r2c(x, (1,), "backward")
    agree(half, fft.rfft(wide(x)), length)
    assert not half[:, 0].imag.any()
    assert not half[:, -1].imag.any()
    whole = NATIVE._fft_c2c(x, (1,), "backward", True)
    agree(whole, fft.fft(wide(x)), length)
    np.testing.assert_array_equal(whole[:, 1:][:, ::-1], whole[:, 1:].conj() + 0)
    half = drawn(21, length // 2 + 1, dtype=np.result_type(dtype, np.complex64), seed=1)
    agree(NATIVE._fft_c2r(half, (1,), "backward", length), fft.irfft(wide(half), length), length)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dims", [(0,), (2,), (0, 1), (2, 1), (0, 1, 2), (1, -1)])
def test_dimensions_and_norms(dims, norm):
    x = drawn(16, 20, 24, dtype="complex64")
    agree(NATIVE._fft_c2c(x, dims, norm, True), fft.fftn(wide(x), axes=dims, norm=norm), x.size)
    agree(NATIVE._fft_c2c(x, dims, norm, False), fft.ifftn(wide(x), axes=dims, norm=norm), x.size)
    agree(NATIVE._fft_c2c(x.real, dims, norm, True), fft.fftn(wide(x.real), axes=dims, norm=norm), x.size)
    agree(NATIVE._fft_c2c(x.real, dims, norm, False), fft.ifftn(wide(x.real), axes=dims, norm=norm), x.size)
    dims = (*[d for d in dims if d not in (2, -1)], 2)
    half = NATIVE._fft_r2c(x.real, dims, norm)
    agree(half, fft.rfftn(wide(x.real), axes=dims, norm=norm), x.size)
    sizes = [x.shape[d] for d in dims]
    agree(NATIVE._fft_c2r(half, dims, norm, 24), fft.irfftn(wide(half), sizes, axes=dims, norm=norm), x.size)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 3, 16, 43, 150])
@pytest.mark.parametrize("length", [1, 2, 9, 64, 67, 100, 134, 1000])
def test_real_columns_and_back(length, columns, dtype):
    """Of several vectors, and a part of one."""
    x = drawn(2, length, columns, dtype=dtype)
    half = NATIVE._fft_r2c(x, (1,), "backward")
    agree(half, fft.rfft(wide(x), axis=1), length)
    assert not half[:, 0].imag.any()
    whole = NATIVE._fft_c2c(x, (1,), "backward", True)
    agree(whole, fft.fft(wide(x), axis=1), length)
    if columns >= 16:
        np.testing.assert_array_equal(whole[:, 1:][:, ::-1], whole[:, 1:].conj() + 0)
    half = drawn(2, length // 2 + 1, columns, dtype=np.result_type(dtype, np.complex64), seed=1)
    agree(NATIVE._fft_c2r(half, (1,), "ortho", length), fft.irfft(wide(half), length, 1, "ortho"), length)
    several = fft.rfftn(wide(x), axes=(2, 0, 1))
    agree(NATIVE._fft_r2c(x, (2, 0, 1), "backward"), several, x.size)
    agree(NATIVE._fft_c2r(several.astype(half.dtype), (2, 0, 1), "backward", length), wide(x), x.size)


def test_strided_lines():
    x = drawn(40, 36, dtype="complex128")
    for given in (x.T, x[::2, ::-1][:, ::3], np.broadcast_to(x[:1], x.shape)):
        agree(NATIVE._fft_c2c(given, (1,), "backward", True), fft.fft(given), given.shape[1])
        agree(NATIVE._fft_r2c(given.real, (1,), "ortho"), fft.rfft(given.real, norm="ortho"), given.shape[1])


@pytest.mark.parametrize(("shape", "dims"), [((40, 0), (1,)), ((2**23 + 8,), (0,))])
def test_what_scipy_serves(shape, dims):
    """Empty arrays and very long lines."""
    x = drawn(*shape, dtype="complex64")
    expected = numpy_kernels.fft_c2c(x, dims, "backward", True)
    np.testing.assert_array_equal(NATIVE._fft_c2c(x, dims, "backward", True), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "d"), [((1000, 3), 0), ((131, 1, 2), 0), ((3, 675, 2), 1), ((65536, 12), 0), ((32771, 9), 0)]
)
def test_few_or_long_columns(shape, d, dtype):
    x = drawn(*shape, dtype=dtype)
    z = (x + 1j * x[..., ::-1]).astype(np.result_type(dtype, np.complex64))
    agree(NATIVE._fft_c2c(z, (d,), "ortho", False), fft.ifft(wide(z), axis=d, norm="ortho"), shape[d])
    half = NATIVE._fft_r2c(x, (d,), "backward")
    agree(half, fft.rfft(wide(x), axis=d), shape[d])
    agree(NATIVE._fft_c2c(x, (d,), "backward", True), fft.fft(wide(x), axis=d), shape[d])
    agree(NATIVE._fft_c2r(half, (d,), "backward", shape[d]), wide(x), shape[d])


@pytest.mark.parametrize("shape", [(9, 16), (200, 3), (64, 1), (5,)])
def test_few_short_lines(shape):
    x = drawn(*shape, dtype="complex64")
    agree(NATIVE._fft_c2c(x, (0,), "backward", True), fft.fft(wide(x), axis=0), 16)


AWKWARD = [7, 11, 13, 14, 49, 61, 67, 77, 91, 101, 134, 254, 257, 338, 509, 1001, 1021, 2039, 4087]
"""With odd radices, and with primes that become convolutions: Rader's and Bluestein's."""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", AWKWARD)
def test_lengths_with_large_factors(length, dtype):
    x = drawn(19, length, dtype=dtype)
    agree(NATIVE._fft_c2c(x, (1,), "backward", True), fft.fft(wide(x)), length)
    agree(NATIVE._fft_c2c(x, (1,), "backward", False), fft.ifft(wide(x)), length)
    columns = np.ascontiguousarray(x.T)
    agree(NATIVE._fft_c2c(columns, (0,), "backward", True), fft.fft(wide(columns), axis=0), length)
    real = np.ascontiguousarray(np.concatenate([x.real, x.imag], 1))
    agree(NATIVE._fft_r2c(real, (1,), "backward"), fft.rfft(wide(real)), 2 * length)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lines", [21, 1])
@pytest.mark.parametrize(
    "length",
    [1, 3, 5, 7, 9, 15, 25, 27, 63, 75, 101, 131, 135, 243, 625, 1001, 1021, 2187, 3125, 20011, 99225],
)
def test_odd_numbers_of_real_values(length, lines, dtype):
    if length * lines > 100_000:
        lines = 2
    x = drawn(lines, length, dtype=dtype)
    half = NATIVE._fft_r2c(x, (1,), "backward")
    agree(half, fft.rfft(wide(x)), length)
    assert not half[:, 0].imag.any()
    whole = NATIVE._fft_c2c(x, (1,), "backward", True)
    agree(whole, fft.fft(wide(x)), length)
    if lines > 1:
        np.testing.assert_array_equal(whole[:, 1:][:, ::-1], whole[:, 1:].conj() + 0)
    half = drawn(lines, length // 2 + 1, dtype=np.result_type(dtype, np.complex64), seed=1)
    agree(NATIVE._fft_c2r(half, (1,), "backward", length), fft.irfft(wide(half), length), length)


SINGLE = [
    128,
    143,
    144,
    160,
    225,
    256,
    343,
    500,
    512,
    1000,
    1024,
    1155,
    2022,
    4096,
    6561,
    10000,
    32768,
    65536,
    91000,
    131072,
]
"""Lengths that are products: of multiples of a vector's lanes, of less than these, with large prime factors."""

SINGLE_PRIMES = [131, 257, 1021, 20011, 65537]
"""Lengths that become convolutions."""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", SINGLE + SINGLE_PRIMES)
def test_single_lines(length, dtype):
    x = drawn(length, dtype=dtype)
    agree(NATIVE._fft_c2c(x, (0,), "backward", True), fft.fft(wide(x)), length)
    agree(NATIVE._fft_c2c(x, (0,), "ortho", False), fft.ifft(wide(x), norm="ortho"), length)
    real = np.concatenate([x.real, x.imag])
    half = NATIVE._fft_r2c(real, (0,), "backward")
    agree(half, fft.rfft(wide(real)), length)
    assert half[0].imag == half[-1].imag == 0
    whole = NATIVE._fft_c2c(real, (0,), "backward", True)
    agree(whole, fft.fft(wide(real)), length)
    np.testing.assert_array_equal(whole[1:][::-1], whole[1:].conj() + 0)
    half = drawn(length + 1, dtype=dtype)
    agree(NATIVE._fft_c2r(half, (0,), "forward", 2 * length), fft.irfft(wide(half), norm="forward"), length)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [5000, 1_000_000, 30 * 1021, 4099, 65537])
def test_errors_are_about_those_of_scipy(length, dtype):
    x = drawn(1, length, dtype=dtype)
    exact = fft.fft(x.astype(np.longdouble))
    errors = [
        np.sqrt(np.mean(np.abs(found - exact) ** 2))
        for found in (
            NATIVE._fft_c2c(x, (1,), "backward", True),
            numpy_kernels.fft_c2c(x, (1,), "backward", True),
        )
    ]
    assert errors[0] <= 2 * errors[1]


def test_imaginary_parts_that_real_values_do_not_have_are_ignored():
    half = drawn(40, 17, dtype="complex64")
    plain = half.copy()
    plain[:, [0, -1]] = plain[:, [0, -1]].real
    half.imag[:, [0, -1]] = np.nan
    found = NATIVE._fft_c2r(half, (1,), "backward", 32)
    np.testing.assert_array_equal(found, NATIVE._fft_c2r(plain, (1,), "backward", 32))


@pytest.mark.parametrize("length", [64, 67, 509, 4096])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_lines_do_not_reach_their_neighbours(value, length):
    x = drawn(40, length, dtype="complex64")
    before = NATIVE._fft_c2c(x, (1,), "backward", True)
    x[5] = value
    after = NATIVE._fft_c2c(x, (1,), "backward", True)
    others = [i for i in range(40) if i != 5]
    np.testing.assert_array_equal(after[others], before[others])
    columns = NATIVE._fft_c2c(np.ascontiguousarray(x.T), (0,), "backward", True)
    if length <= 2048:  # longer lines are matrices
        np.testing.assert_array_equal(columns.T[others], before[others])
    assert np.isfinite(columns.T[others]).all()
    real = drawn(40, length, dtype="float32")
    half = NATIVE._fft_r2c(real, (1,), "backward")
    real[5] = value
    np.testing.assert_array_equal(NATIVE._fft_r2c(real, (1,), "backward")[others], half[others])


def test_the_bits_do_not_depend_on_the_number_of_threads():
    before = tt.get_num_threads()
    x = drawn(300, 240, dtype="complex64")
    long = drawn(2, 131072, dtype="complex64")
    few = drawn(3, 8192, dtype="complex128")
    columns = drawn(40000, 3, dtype="complex64")
    found = []
    try:
        for threads in (1, 2, 5):
            tt.set_num_threads(threads)
            found.append([NATIVE._fft_c2c(x, dims, "ortho", True) for dims in ((0,), (1,), (0, 1))])
            found[-1].append(NATIVE._fft_c2c(columns, (0,), "ortho", True))
            for lines in (long, few):
                found[-1].append(NATIVE._fft_c2c(lines, (1,), "ortho", False))
                found[-1].append(NATIVE._fft_c2c(lines.real, (1,), "ortho", True))
                found[-1].append(NATIVE._fft_r2c(lines.real[:, 1:], (1,), "ortho"))
                found[-1].append(NATIVE._fft_c2r(lines, (1,), "ortho", 2 * lines.shape[1] - 2))
                found[-1].append(NATIVE._fft_c2r(lines, (1,), "ortho", 2 * lines.shape[1] - 1))
    finally:
        tt.set_num_threads(before)
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


def test_more_lengths_than_are_kept():
    lines = {n: drawn(16, n, dtype="complex64", seed=n) for n in LENGTHS if n > 1}
    first = {n: NATIVE._fft_c2c(x, (1,), "backward", True) for n, x in lines.items()}
    for n, x in lines.items():
        np.testing.assert_array_equal(NATIVE._fft_c2c(x, (1,), "backward", True), first[n])
