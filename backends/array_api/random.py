"""Random numbers: Philox4x32-10, and what its words become.

docs/design/random.md specifies which element gets which words, and how words become numbers of each kind.
Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from tt.backends.array_api.namespace import Namespace
from tt.backends.array_api.table import NamespaceTable
from tt.core.library import errors, reserve, warn_user

__all__ = [
    "HALF",
    "KEY_STEPS",
    "MULTIPLIERS",
    "ROUNDS",
    "UNIT_BITS",
    "check_integers",
    "check_normal",
    "check_permutation",
    "check_probability",
    "check_uniform",
    "philox",
    "table",
    "threshold",
    "words_of",
]

table = NamespaceTable()

Draw = Callable[[Namespace, Any, int, str], Any]
"""Draws numbers of a dtype, given a generator, how many, and the name of the dtype."""

MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS: Final = (0x9E3779B9, 0xBB67AE85)
ROUNDS: Final = 10
PARTS: Final = {"complex64": "float32", "complex128": "float64"}
"""The dtype of the real and the imaginary part of each complex dtype."""

_LOW: Final = 0xFFFFFFFF
_SIGN: Final = -(2**63)

UNIT_BITS: Final = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""The random bits of a number between 0 and 1: as many as the dtype's significand has, so that none rounds to 1."""


def signed(value: int) -> int:
    """Return the number of int64 with the same 64 bits."""
    return (value + 2**63) % 2**64 - 2**63


def multiply(xp: Any, value: Any, factor: int) -> tuple[Any, Any]:
    """Return the high and the low 32 bits of the product of words and a number of at most 32 bits and one.

    Words are uint64 where the library computes with it; elsewhere they are int64, whose products would overflow, so
    they are multiplied in halves.
    """
    if hasattr(xp, "uint64") and value.dtype == xp.uint64:
        product = value * xp.asarray(factor, dtype=value.dtype)
        return product >> 32, product & _LOW
    high, low = value >> 16, value & 0xFFFF
    # Halves of 16 bits: every product and sum stays far below 2**63.
    first = low * (factor & 0xFFFF)
    second = high * (factor & 0xFFFF) + (first >> 16)
    third = low * (factor >> 16) + (second & 0xFFFF)
    return high * (factor >> 16) + (second >> 16) + (third >> 16), (third & 0xFFFF) << 16 | first & 0xFFFF


def philox(xp: Any, counter: Sequence[Any], key: tuple[int, int]) -> tuple[Any, Any, Any, Any]:
    """Return the four words of each counter.

    Parameters
    ----------
    xp : module
        The array namespace.
    counter : sequence of four arrays of uint64 or int64
        The words of the counters, each below 2**32.
    key : tuple of two int
        The words of the key.

    Returns
    -------
    tuple of four arrays
        Of the same dtype, each below 2**32.
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        (high0, low0), (high1, low1) = multiply(xp, c0, MULTIPLIERS[0]), multiply(xp, c2, MULTIPLIERS[1])
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + KEY_STEPS[0]) & _LOW, (k1 + KEY_STEPS[1]) & _LOW
    return c0, c1, c2, c3


def words_of(xp: Any, seed: int, offset: int, count: int, dtype: Any = None) -> Any:
    """Return the first `count` words of a call, below 2**32, as uint64 or as the dtype that is given."""
    dtype = xp.uint64 if dtype is None else dtype
    blocks = -(-count // 4)
    block = xp.arange(blocks, dtype=xp.int64)
    # The sum with the offset is a number of 64 bits that wraps around: its halves are summed by themselves.
    low = (block & _LOW) + (offset & _LOW)
    high = ((block >> 32) + (offset >> 32) + (low >> 32)) & _LOW
    low, high = xp.astype(low & _LOW, dtype), xp.astype(high, dtype)
    zero = xp.zeros_like(low)
    words = philox(xp, (low, high, zero, zero), (seed & _LOW, seed >> 32))
    return xp.reshape(xp.stack(words, axis=-1), (-1,))[:count]


# --- checks, the same on every backend -------------------------------------------------------------------------


def check_probability(p: float) -> None:
    """Raise unless p is a probability."""
    if not 0 <= p <= 1:
        raise errors.ValueRangeError(f"bernoulli_(): the probability p is between 0 and 1, not {p}")


RANGES: Final = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "complex64": 3.4028234663852886e38,
}
"""The largest number of each dtype whose range is smaller than that of float64."""

HALF: Final = (-65504, 65504)
"""The lowest and highest integer of float16, the only floating dtype without those of 64 bits."""


def check_normal(std: float) -> None:
    """Raise for a negative standard deviation."""
    if not std >= 0:
        raise errors.ValueRangeError(f"normal_(): the standard deviation is {std}; it cannot be negative")


def check_uniform(from_: float, to: float, dtype: str) -> None:
    """Raise unless the bounds are in order, and the distance between them is in the range of the dtype."""
    if not to - from_ <= RANGES.get(dtype, sys.float_info.max) and not from_ > to:
        raise errors.NumberRangeError(
            f"uniform_(): the distance from from={from_} to to={to} is beyond the range of {dtype}"
        )
    if from_ > to:
        raise errors.ValueRangeError(
            f"uniform_(): from is {from_} and to is {to}; from cannot be the larger one"
        )


def check_integers(low: int, high: int, limits: tuple[int, int] | None, dtype: str | None = None) -> None:
    """Raise unless there are integers from low to before high, and a dtype with the limits holds them.

    A floating dtype, whose name is given, may lack some of them, with a warning.
    """
    if low >= high:
        raise errors.ShapeError(f"randint(): the range from {low} to before {high} has no integer")
    smallest, largest = limits or (-(2**63), 2**63 - 1)
    if high >= 2**63 and largest < 2**64 - 1:
        raise errors.NumberRangeError(f"randint(): high={high} is not a 64-bit integer, except of uint64")
    if low < smallest:
        raise errors.DtypeError(f"randint(): {low} is beyond the range of the dtype")
    if high - 1 > largest:
        raise errors.DtypeError(f"randint(): {high - 1} is beyond the range of the dtype")
    if dtype is not None:
        exact = 2 ** UNIT_BITS[dtype]
        for value in (low, high - 1):
            if not -exact <= value <= exact:
                warn_user(
                    f"randint(): {value} is beyond {exact}, and {dtype} lacks some integers between them\n"
                    "  try: a dtype with more digits"
                )


def check_permutation(n: int, limit: int | str) -> None:
    """Raise for a negative n, and for numbers beyond a dtype: `limit` is its largest, or its name if it floats."""
    if n < 0:
        raise ValueError("a negative number of elements")
    largest = 2 ** UNIT_BITS[limit] if isinstance(limit, str) else limit
    if n - 1 > largest:
        raise errors.DtypeError(f"randperm(): the dtype cannot hold every integer below {n}")


def threshold(p: float) -> int:
    """Return the number below which a word counts as true with probability p.

    Comparing words with it is the same as comparing the 24 bits of a float32 with p in float32.
    """
    return math.ceil(struct_float32(p) * 2**24) << 8


def struct_float32(value: float) -> float:
    """Return a Python float rounded to float32."""
    import struct

    rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    return rounded


# --- kernels ---------------------------------------------------------------------------------------------------


def word(xp: Namespace) -> Any:
    """Return the dtype of words: uint64, or int64 where the library does not compute with it."""
    return xp.uint64 if xp.backend.has_dtype("uint64") else xp.int64


def words(xp: Namespace, generator: Any, count: int) -> Any:
    """Return so many words of a generator."""
    seed, offset = reserve(generator, -(-count // 4), xp.backend.device_type)
    return words_of(xp, seed, offset, count, word(xp))


def halves(xp: Namespace, values: Any) -> tuple[Any, Any]:
    """Return every other value: the first, third, ... and the second, fourth, ..."""
    pairs = xp.reshape(values, (values.shape[0] // 2, 2))
    return pairs[:, 0], pairs[:, 1]


def long_words(xp: Namespace, generator: Any, count: int) -> Any:
    """Return so many words of 64 bits, the low half first; int64 values from 2**63 on are negative."""
    low, high = halves(xp, words(xp, generator, 2 * count))
    return low | (high << 32)


def bits53(xp: Namespace, generator: Any, count: int) -> Any:
    """Return the upper 53 bits of so many words of 64 bits."""
    low, high = halves(xp, words(xp, generator, 2 * count))
    # 32 bits of one word and the upper 21 of the other.
    return (high << 21) | (low >> 11)


def remainders(xp: Namespace, generator: Any, count: int, span: int) -> Any:
    """Return so many words of 64 bits modulo a span above 2**32."""
    if word(xp) != xp.int64:
        return long_words(xp, generator, count) % xp.asarray(span, dtype=word(xp))
    low, rest = halves(xp, words(xp, generator, 2 * count))
    if span <= 2**62:  # long division, bit by bit: the rest and its double stay below 2**63
        for bit in range(31, -1, -1):
            rest = (rest << 1) | ((low >> bit) & 1)
            rest = xp.where(rest >= span, rest - span, rest)
        return rest
    rest = low | (rest << 32)
    # Above 2**62, the span fits at most three times into 64 bits.
    for _ in range(3):  # the span is taken off as often as it can be; compared without sign
        rest = xp.where(rest ^ _SIGN >= signed(span) ^ _SIGN, rest - signed(span), rest)
    return rest


def units(xp: Namespace, generator: Any, count: int, name: str) -> Any:
    """Return numbers between 0 and 1 of a floating point dtype."""
    dtype, bits = getattr(xp, name), UNIT_BITS[name]
    if name == "float64":
        return xp.astype(bits53(xp, generator, count), dtype) * 2.0**-bits
    return xp.astype(words(xp, generator, count) >> (32 - bits), dtype) * 2.0**-bits


def normals(xp: Namespace, generator: Any, count: int, name: str) -> Any:
    """Return numbers of the standard normal distribution (Box and Muller), in float32 for shorter dtypes."""
    pairs = -(-count // 2)
    if name == "float64":
        first, angle = halves(xp, xp.astype(bits53(xp, generator, 2 * pairs), xp.float64) * 2.0**-53)
        first, angle = first + 2.0**-54, angle * (2 * math.pi)
    else:
        first, angle = halves(xp, xp.astype(words(xp, generator, 2 * pairs), xp.float32))
        first, angle = first * 2.0**-32 + 2.0**-33, angle * (2 * math.pi * 2.0**-32)
    radius = xp.sqrt(-2.0 * xp.log(first))
    both = xp.stack([radius * xp.cos(angle), radius * xp.sin(angle)], axis=-1)
    return xp.reshape(both, (-1,))[:count]


def name_of(xp: Namespace, dtype: Any) -> str:
    """Return the name of a dtype; compared, not looked up, since NumPy's equal ones have other hashes."""
    return next(name for name in (*UNIT_BITS, *PARTS) if xp.has(name) and xp.find(name) == dtype)


def size_of(xp: Namespace, size: Sequence[int]) -> int:
    """Return the number of elements."""
    if any(n < 0 for n in size):
        raise ValueError("a size is negative")
    return xp.product(size)


def shaped(xp: Namespace, values: Any, size: Sequence[int], dtype: Any) -> Any:
    """Return values in a shape and a dtype."""
    return xp.reshape(xp.astype(values, dtype, copy=False), tuple(size))


def filled(
    xp: Namespace, draw: Draw, size: Sequence[int], generator: Any, dtype: Any, scale: float = 1.0
) -> Any:
    """Return drawn numbers; of complex dtypes real and imaginary part by turns."""
    name = name_of(xp, dtype)
    if name in PARTS:
        real, imag = halves(xp, draw(xp, generator, 2 * size_of(xp, size), PARTS[name]) * scale)
        return shaped(xp, xp.astype(real, dtype) + xp.astype(imag, dtype) * 1j, size, dtype)
    return shaped(xp, draw(xp, generator, size_of(xp, size), name), size, dtype)


# --- of a size ---


@table.kernel("rand", dtypes="floating_complex")
def rand(xp: Namespace, size: Sequence[int], generator: Any, dtype: Any) -> Any:
    return filled(xp, units, size, generator, dtype)


@table.kernel("randn", dtypes="floating_complex")
def randn(xp: Namespace, size: Sequence[int], generator: Any, dtype: Any) -> Any:
    return filled(xp, normals, size, generator, dtype, math.sqrt(0.5))


@table.kernel("randint.low", dtypes="real")
def randint(xp: Namespace, low: int, high: int, size: Sequence[int], generator: Any, dtype: Any) -> Any:
    limits = (
        (0, 1)
        if xp.isdtype(dtype, "bool")
        else HALF
        if xp.isdtype(dtype, "real floating") and name_of(xp, dtype) == "float16"
        else None
    )
    if xp.isdtype(dtype, "integral"):
        limits = int(xp.iinfo(dtype).min), int(xp.iinfo(dtype).max)
    check_integers(low, high, limits, name_of(xp, dtype) if xp.isdtype(dtype, "real floating") else None)
    span, count = high - low, size_of(xp, size)
    if span <= 2**32:
        # The upper 32 bits of word * span, as on every backend.
        values = multiply(xp, words(xp, generator, count), span)[0]
    else:
        values = remainders(xp, generator, count, span)
    # Added modulo 2**64, so that every low and high has a way to be added.
    if word(xp) == xp.int64:
        return shaped(xp, values + signed(low), size, dtype)
    values = values + xp.asarray(low % 2**64, dtype=xp.uint64)
    return shaped(xp, xp.astype(values, xp.int64) if low < 0 else values, size, dtype)


@table.kernel("randperm", dtypes="real_number", needs="argsort")
def randperm(xp: Namespace, n: int, generator: Any, dtype: Any) -> Any:
    check_permutation(n, int(xp.iinfo(dtype).max) if xp.isdtype(dtype, "integral") else name_of(xp, dtype))
    keys = long_words(xp, generator, n)
    keys = keys ^ _SIGN if word(xp) == xp.int64 else keys  # in the order of the numbers without sign
    return xp.astype(xp.argsort(keys, stable=True), dtype, copy=False)


# --- like a tensor ---


@table.kernel("bernoulli.p")
def bernoulli_p(xp: Namespace, self: Any, p: float, generator: Any) -> Any:
    check_probability(p)
    return shaped(xp, words(xp, generator, size_of(xp, self.shape)) < threshold(p), self.shape, self.dtype)


@table.kernel("normal", dtypes="floating_complex", half="native")
def normal(xp: Namespace, self: Any, mean: float, std: float, generator: Any) -> Any:
    check_normal(std)
    return filled(xp, normals, tuple(self.shape), generator, self.dtype, math.sqrt(0.5)) * std + mean


@table.kernel("uniform", dtypes="floating_complex", half="native")
def uniform(xp: Namespace, self: Any, from_: float, to: float, generator: Any) -> Any:
    check_uniform(from_, to, name_of(xp, self.dtype))
    return filled(xp, units, tuple(self.shape), generator, self.dtype) * (to - from_) + from_
