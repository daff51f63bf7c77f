"""The dtypes of eight bits: conversions as PyTorch makes them."""

import ml_dtypes
import numpy as np
import pytest

import tt
from tt.core.errors import PromotionError
from tt.core.types.dtype import ALL_DTYPES, STORED
from tt.core.types.float8 import decode_float8, encode_float8, is_float8

every = pytest.mark.parametrize("dtype", STORED, ids=str)
PATTERNS = np.arange(256, dtype=np.uint8)


def patterns(dtype):
    return tt.from_numpy(PATTERNS.copy()).view(dtype)


@every
def test_every_number_survives_float32(dtype):
    numbers = decode_float8(PATTERNS.view(dtype.numpy))
    assert is_float8(dtype.numpy) and numbers.dtype == np.float32
    back = encode_float8(numbers, dtype.numpy).view(np.uint8)
    finite = ~np.isnan(numbers)
    assert (back[finite] == PATTERNS[finite]).all()
    assert np.isnan(decode_float8(back.view(dtype.numpy))[~finite]).all()


@every
def test_numbers_between_two_are_rounded_to_the_nearest_even(dtype):
    numbers = np.unique(decode_float8(PATTERNS.view(dtype.numpy)))
    numbers = numbers[np.isfinite(numbers)].astype(np.float64)
    # Binary codes of neighbours differ by one, so the even one of two is the one whose code is even.
    codes = encode_float8(numbers, dtype.numpy).view(np.uint8)
    middles = (numbers[:-1] + numbers[1:]) / 2
    below, above = encode_float8(numbers[:-1], dtype.numpy), encode_float8(numbers[1:], dtype.numpy)
    even = np.where(codes[:-1] % 2 == 0, decode_float8(below), decode_float8(above))
    if dtype is not tt.float8_e8m0fnu:
        assert (decode_float8(encode_float8(middles, dtype.numpy)) == even).all()
    for weight, nearest in ((0.4, below), (0.6, above)):
        mixed = numbers[:-1] * (1 - weight) + numbers[1:] * weight
        if dtype is not tt.float8_e8m0fnu or weight == 0.6:
            assert (decode_float8(encode_float8(mixed, dtype.numpy)) == decode_float8(nearest)).all()


def test_what_is_too_large_saturates_becomes_infinite_or_nan():
    large = tt.tensor([1e9, -1e9, tt.inf, -tt.inf])
    assert large.to(tt.float8_e4m3fn).tolist() == [448.0, -448.0, 448.0, -448.0]
    assert large.to(tt.float8_e5m2).tolist() == [tt.inf, -tt.inf, tt.inf, -tt.inf]
    assert large.to(tt.float8_e4m3fnuz).isnan().all() and large.to(tt.float8_e5m2fnuz).isnan().all()
    assert tt.tensor([0.0, -0.5, 3.0]).to(tt.float8_e8m0fnu).tolist() == [2.0**-127, 0.5, 4.0]


@every
def test_limits_are_those_of_the_numbers(dtype):
    numbers = decode_float8(PATTERNS.view(dtype.numpy)).astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    info = tt.finfo(dtype)
    assert (info.max, info.min, info.bits, info.dtype) == (finite.max(), finite.min(), 8, dtype.name)
    one = int(encode_float8(np.asarray(1.0), dtype.numpy).view(np.uint8))
    assert info.eps == numbers[one + 1] - 1


@every
def test_they_promote_with_nothing_but_python_numbers(dtype):
    assert tt.promote_types(dtype, dtype) is dtype
    x = tt.ones(2, dtype=dtype)
    assert tt.result_type(x, 1.0) is dtype and tt.result_type(x, tt.tensor(3)) is dtype
    for other in ALL_DTYPES:
        if other is not dtype:
            with pytest.raises(PromotionError, match=r"float8 does not promote\n  try: convert"):
                tt.promote_types(other, dtype)
    with pytest.raises(PromotionError):
        tt.result_type(x, 1j)
    with pytest.raises(TypeError, match="no complex dtype"):
        dtype.to_complex()
    with pytest.raises(TypeError, match="default type"):
        tt.set_default_dtype(dtype)


@pytest.mark.torch
@every
def test_conversions_from_every_dtype_are_those_of_torch(dtype):
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**32, 20_000, dtype=np.uint64).astype(np.uint32)
    halves = np.arange(65536, dtype=np.uint32) << 16
    floats = np.concatenate([bits, *(halves + step for step in (0, 1, 0x7FFF, 0x8000, 0x8001))]).view(
        np.float32
    )
    theirs = getattr(torch, dtype.name)
    for name in ("float32", "float64", "float16", "bfloat16", "int64", "int16", "uint8", "bool"):
        with np.errstate(all="ignore"):
            source = floats if "float" in name else random.integers(-3000, 3000, 5000)
            array = source.astype(getattr(tt, name).numpy)
        same = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16) if name == "bfloat16" else (
            torch.from_numpy(array)
        )  # fmt: skip
        found = tt.from_numpy(array).to(dtype).view(tt.uint8).numpy()
        assert (found == same.to(theirs).view(torch.uint8).numpy()).all(), name


@pytest.mark.torch
@every
def test_conversions_to_every_dtype_are_those_of_torch(dtype):
    torch = pytest.importorskip("torch")
    theirs = torch.arange(256).to(torch.uint8).view(getattr(torch, dtype.name))
    for other in ALL_DTYPES:
        if other.kind in ("floating", "bool"):
            same = theirs.to(getattr(torch, other.name)).double().numpy()
            assert np.array_equal(patterns(dtype).to(other).double().numpy(), same, equal_nan=True), other
        elif not other.is_complex:  # integers cannot be NaN
            same = (
                theirs.float()
                .nan_to_num(0, 0, 0)
                .clamp(0, 100)
                .to(theirs.dtype)
                .to(getattr(torch, other.name))
            )
            mine = tt.from_numpy(theirs.float().nan_to_num(0, 0, 0).clamp(0, 100).numpy()).to(dtype).to(other)
            assert mine.tolist() == same.tolist(), other


def test_the_numbers_are_those_of_ml_dtypes():
    for dtype in STORED:
        direct = PATTERNS.view(dtype.numpy).astype(np.float64)
        assert np.array_equal(patterns(dtype).double().numpy(), direct, equal_nan=True)
        assert dtype.numpy == np.dtype(getattr(ml_dtypes, dtype.name))
