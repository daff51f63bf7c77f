"""Random numbers: the words of docs/design/random.md, made in pieces that stay in the processor's cache."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.array_api.random import (
    HALF,
    KEY_STEPS,
    MULTIPLIERS,
    ROUNDS,
    UNIT_BITS,
    check_integers,
    check_normal,
    check_permutation,
    check_probability,
    check_uniform,
    threshold,
)
from tt.backends.cpu.backend import Array
from tt.backends.cpu.creation import rounded
from tt.core.library import Generator, KernelTable, errors, reserve

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["cpu", "word_pieces"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

_BLOCKS: Final = 2048
"""Counters a piece: the buffers of a piece fit into the second-level cache."""
_LOW: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)
_M0, _M1 = (np.uint64(m) for m in MULTIPLIERS)

# --- words -----------------------------------------------------------------------------------------------------


class _Rounds:
    """The buffers of one piece, and the ten rounds in place."""

    def __init__(self, blocks: int) -> None:
        # 64 bits for words of 32, so that NumPy's product of two words keeps its upper half.
        self.counter = [np.empty(blocks, np.uint64) for _ in range(4)]
        self.product = [np.empty(blocks, np.uint64) for _ in range(2)]

    def run(self, seed: int, first: int, blocks: int) -> list[Array]:
        """Return the four words of the counters from `first` on, in buffers that the next call overwrites."""
        c0, c1, c2, c3 = (buffer[:blocks] for buffer in self.counter)
        p0, p1 = (buffer[:blocks] for buffer in self.product)
        # The counter has 128 bits: the low 64 count, and the others stay 0.
        np.add(np.arange(blocks, dtype=np.uint64), np.uint64(first), c0)
        np.right_shift(c0, _HALF, c1)
        np.bitwise_and(c0, _LOW, c0)
        c2.fill(0)
        c3.fill(0)
        k0, k1 = seed & 0xFFFFFFFF, seed >> 32
        # Each buffer is written only after its last use in the round, so four buffers and two products
        # suffice.
        for _ in range(ROUNDS):
            np.multiply(c0, _M0, p0)
            np.multiply(c2, _M1, p1)
            np.right_shift(p1, _HALF, c0)
            np.bitwise_xor(c0, c1, c0)
            np.bitwise_xor(c0, np.uint64(k0), c0)
            np.bitwise_and(p1, _LOW, c1)
            np.right_shift(p0, _HALF, c2)
            np.bitwise_xor(c2, c3, c2)
            np.bitwise_xor(c2, np.uint64(k1), c2)
            np.bitwise_and(p0, _LOW, c3)
            k0, k1 = (k0 + KEY_STEPS[0]) & 0xFFFFFFFF, (k1 + KEY_STEPS[1]) & 0xFFFFFFFF
        return [c0, c1, c2, c3]


def word_pieces(seed: int, offset: int, count: int) -> Iterator[tuple[int, Array]]:
    """Yield the words of a call in pieces, each with the position of its first word.

    A piece begins at a multiple of four words; it must not be changed, and is overwritten by the next.
    """
    blocks = -(-count // 4)
    if blocks < _BLOCKS:
        yield 0, _few_words(seed, offset, count)
        return
    rounds = _Rounds(min(blocks, _BLOCKS))
    # Little-endian on all machines: two words that are read as "<u8" have the first as their low half.
    words = np.empty((min(blocks, _BLOCKS), 4), "<u4")
    for first in range(0, blocks, _BLOCKS):
        size = min(_BLOCKS, blocks - first)
        # A counter wraps around at 64 bits, as NumPy's sums do.
        for column, word in enumerate(rounds.run(seed, (offset + first) & (2**64 - 1), size)):
            words[:size, column] = word
        yield 4 * first, words[:size].reshape(-1)[: count - 4 * first]


def _few_words(seed: int, offset: int, count: int) -> Array:
    """Return the words of a short call out of whole pieces, which serve the next calls, too."""
    index, start = divmod(offset, _BLOCKS)
    words = _piece(seed, index)[4 * start : 4 * start + count]
    if len(words) < count:
        following = _piece(seed, (index + 1) % (2**64 // _BLOCKS))
        words = np.concatenate([words, following[: count - len(words)]])
    return words


# A loop of short calls would otherwise compute a whole piece for a few words each time.
@lru_cache(maxsize=16)
def _piece(seed: int, index: int) -> Array:
    """Return the words of the counters from `index * _BLOCKS` on, read-only."""
    words = np.empty((_BLOCKS, 4), "<u4")
    for column, word in enumerate(_Rounds(_BLOCKS).run(seed, index * _BLOCKS, _BLOCKS)):
        words[:, column] = word
    # Callers get slices of the cached piece, and writing there would change later random numbers.
    words.flags.writeable = False
    return words.reshape(-1)


def _pieces(generator: Generator | None, count: int) -> Iterator[tuple[slice, Array]]:
    """Yield the words that a generator gives for a call, each piece with its place."""
    seed, offset = reserve(generator, -(-count // 4), "cpu")
    for first, words in word_pieces(seed, offset, count):
        yield slice(first, first + len(words)), words


def _long_words(generator: Generator | None, count: int) -> Array:
    """Return words of 64 bits, the low half first."""
    words = np.empty(2 * count, "<u4")
    for section, piece in _pieces(generator, 2 * count):
        words[section] = piece
    return words.view("<u8")


# --- numbers ---------------------------------------------------------------------------------------------------


def units(generator: Generator | None, count: int, dtype: DTypeLike) -> Array:
    """Return numbers between 0 and 1."""
    out = np.empty(count, dtype)
    bits = UNIT_BITS[out.dtype.name]
    if out.dtype == np.float64:
        for section, words in _pieces(generator, 2 * count):
            part = out[section.start // 2 : section.stop // 2]
            # As many bits as the significand has, so that the product is exact and never 1.
            np.multiply(words.view("<u8") >> np.uint64(64 - bits), 2.0**-bits, part)
        return out
    for section, words in _pieces(generator, count):
        part = np.right_shift(words, np.uint32(32 - bits)).astype(np.float32)
        part *= np.float32(2.0**-bits)
        out[section] = part
    return out


def normals(generator: Generator | None, count: int, dtype: DTypeLike) -> Array:
    """Return numbers of the standard normal distribution (Box and Muller)."""
    # Box and Muller make pairs; of an odd count the last number is thrown away.
    out = np.empty(count + count % 2, np.float64 if dtype == np.float64 else np.float32)
    if out.dtype == np.float64:
        for section, words in _pieces(generator, 2 * len(out)):
            values = (words.view("<u8") >> np.uint64(11)) * 2.0**-53
            # Half a step more, since the logarithm of 0 is infinite.
            _pair(
                values[0::2] + 2.0**-54,
                values[1::2] * (2 * math.pi),
                out[section.start // 2 : section.stop // 2],
            )
    else:
        scale, shift, turn = np.float32(2.0**-32), np.float32(2.0**-33), np.float32(2 * math.pi * 2.0**-32)
        for section, words in _pieces(generator, len(out)):
            values = words.astype(np.float32)
            _pair(values[0::2] * scale + shift, values[1::2] * turn, out[section])
    return (out if len(out) == count else out[:count].copy()).astype(dtype, copy=False)


def _pair(first: Array, angle: Array, out: Array) -> None:
    """Write the two normal numbers of each pair of uniform ones."""
    radius = np.log(first, first)
    radius *= -2
    np.sqrt(radius, radius)
    out[0::2] = radius * np.cos(angle)
    out[1::2] = radius * np.sin(angle)


def _count(size: Sequence[int]) -> int:
    if any(n < 0 for n in size):
        raise ValueError("a size is negative")
    return math.prod(size)


def _filled(
    draw: Callable[[Generator | None, int, DTypeLike], Array],
    size: Sequence[int],
    generator: Generator | None,
    dtype: np.dtype[Any],
    scale: float = 1.0,
) -> Array:
    """Return drawn numbers; of complex dtypes real and imaginary part by turns."""
    dtype, shape = np.dtype(dtype), tuple(size)
    if dtype.kind != "c":
        return draw(generator, _count(shape), dtype).reshape(shape)
    parts = draw(generator, 2 * _count(shape), np.float32 if dtype == np.complex64 else np.float64)
    # A complex normal number has the variance 1, half of it in each part.
    if scale != 1.0:
        parts *= parts.dtype.type(scale)
    result = parts.view(dtype).reshape(shape)
    return result


# --- kernels ---------------------------------------------------------------------------------------------------


@cpu.kernel("rand", dtypes="floating_complex")
def rand(size: Sequence[int], generator: Generator | None, dtype: np.dtype[Any]) -> Array:
    return _filled(units, size, generator, dtype)


@cpu.kernel("randn", dtypes="floating_complex")
def randn(size: Sequence[int], generator: Generator | None, dtype: np.dtype[Any]) -> Array:
    return _filled(normals, size, generator, dtype, math.sqrt(0.5))


@cpu.kernel("randint.low", dtypes="real")
def randint(
    low: int, high: int, size: Sequence[int], generator: Generator | None, dtype: np.dtype[Any]
) -> Array:
    limits = (0, 1) if dtype == np.bool_ else HALF if dtype == np.float16 else None
    if np.dtype(dtype).kind in "iu":
        limits = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    check_integers(low, high, limits, np.dtype(dtype).name if np.dtype(dtype).kind in "fV" else None)
    span, count = high - low, _count(size)
    # The upper half of word * span: no division, and no rejection, which would make the counters depend on
    # values.
    if span <= 2**32:
        values = np.empty(count, np.uint64)
        for section, words in _pieces(generator, count):
            np.multiply(words, np.uint64(span), values[section])
        values >>= _HALF
    else:
        values = _long_words(generator, count) % np.uint64(span)
    values += np.uint64(low % 2**64)  # modulo 2**64, so that every low and high has a way to be added
    signed = values.view(np.int64) if low < 0 else values
    return signed.astype(dtype).reshape(tuple(size))


@cpu.kernel("randperm", dtypes="real_number")
def randperm(n: int, generator: Generator | None, dtype: np.dtype[Any]) -> Array:
    d = np.dtype(dtype)
    check_permutation(n, int(np.iinfo(d).max) if d.kind in "iu" else d.name)
    # Keys of 64 bits seldom coincide; stable, so that each backend orders those that do alike.
    return np.argsort(_long_words(generator, n), kind="stable").astype(dtype, copy=False)


def _below(generator: Generator | None, count: int, limit: int) -> Array:
    """Return which words are below a limit."""
    out = np.empty(count, np.bool_)
    for section, words in _pieces(generator, count):
        # Integers are compared: no rounding makes devices differ.
        np.less(words, limit, out[section])
    return out


@cpu.kernel("bernoulli.p")
def bernoulli_p(self: Array, p: float, generator: Generator | None) -> Array:
    check_probability(p)
    return _below(generator, self.size, threshold(p)).reshape(self.shape).astype(self.dtype)


@cpu.kernel("bernoulli", dtypes="floating", half="native")
def bernoulli(self: Array, generator: Generator | None) -> Array:
    wide = self if self.itemsize >= 4 else self.astype(np.float32)
    _check_probabilities(wide)
    return (units(generator, self.size, wide.dtype).reshape(self.shape) < wide).astype(self.dtype)


@cpu.kernel("bernoulli.Tensor", half="native", check=True)
def bernoulli_tensor(self: Array, p: Array, generator: Generator | None) -> Array:
    if p.dtype.kind not in "fV":  # bfloat16 is of kind V
        raise errors.DispatchError(
            "bernoulli_", f"the probabilities are of {p.dtype} instead of a floating point dtype"
        )
    wide = p if p.itemsize >= 4 else p.astype(np.float32)
    _check_probabilities(wide)
    return (units(generator, self.size, wide.dtype).reshape(self.shape) < wide).astype(self.dtype)


def _check_probabilities(p: Array) -> None:
    if p.size and not (p.min() >= 0 and p.max() <= 1):  # NaN is refused, too
        raise errors.ValueRangeError("bernoulli: probabilities lie between 0 and 1, and some do not")


@cpu.kernel("exponential", dtypes="floating", half="native")
def exponential(self: Array, lambd: float, generator: Generator | None) -> Array:
    if not lambd > 0:
        raise errors.ValueRangeError(f"exponential_(): the rate lambd is positive, and {lambd} is not")
    single = self.dtype != np.float64
    drawn = units(generator, self.size, np.float32 if single else np.float64).astype(np.float64, copy=False)
    drawn += 2.0**-25 if single else 2.0**-54  # half a step: the logarithm of 0 is not finite
    np.log(drawn, drawn)
    drawn /= -lambd
    return drawn.astype(self.dtype, copy=False).reshape(self.shape)


@cpu.kernel("multinomial", dtypes="floating", half="native", check=True)
def multinomial(self: Array, num_samples: int, replacement: bool, generator: Generator | None) -> Array:
    weights = self.astype(np.float64)
    if weights.size and not (weights.min() >= 0 and weights.max() < math.inf):
        raise errors.ValueRangeError("multinomial(): a weight is negative, infinite or not a number")
    cumulative = np.cumsum(weights, -1)
    if (cumulative[..., -1] <= 0).any():
        raise errors.ValueRangeError(
            "multinomial(): the weights of a row are all zero, so nothing can be drawn"
        )
    if not replacement:
        # Of exponential times with these rates, the smallest come first.
        times = exponential(np.empty(weights.shape, np.float32), 1.0, generator)
        # A weight of 0 has the rate 0, which is chosen last.
        rates = weights / times
        if num_samples == 1:
            return np.asarray(rates.argmax(-1, keepdims=True))
        return np.ascontiguousarray(np.argsort(-rates, -1, kind="stable")[..., :num_samples])
    rows = cumulative.reshape(-1, cumulative.shape[-1])
    target = (
        units(generator, len(rows) * num_samples, np.float64).reshape(len(rows), num_samples) * rows[:, -1:]
    )
    # What reaches the last sum only by rounding counts for the last index that has a probability.
    np.minimum(target, np.nextafter(rows[:, -1:], 0), out=target)
    samples = np.empty(target.shape, np.int64)
    for row, targets, out in zip(rows, target, samples, strict=True):
        # "right" passes indices of weight 0, whose sums equal that before them.
        out[:] = row.searchsorted(targets, "right")
    return samples.reshape(*self.shape[:-1], num_samples)


@cpu.kernel("normal", dtypes="floating_complex", half="native")
def normal(self: Array, mean: float, std: float, generator: Generator | None) -> Array:
    check_normal(std)
    drawn = _filled(normals, self.shape, generator, self.dtype, math.sqrt(0.5))
    return np.asarray(drawn * std + mean).astype(self.dtype, copy=False)


@cpu.kernel("uniform", dtypes="floating_complex", half="native")
def uniform(self: Array, from_: float, to: float, generator: Generator | None) -> Array:
    check_uniform(from_, to, self.dtype.name)
    drawn = _filled(units, self.shape, generator, self.dtype)
    if drawn.dtype.name == "bfloat16":
        # Rounded once, at the end: before 0.7 ml_dtypes took a bfloat16 array times a number to float32 by itself.
        drawn = drawn.astype(np.float32)
    return np.asarray(drawn * (to - from_) + from_).astype(self.dtype, copy=False)


@cpu.kernel("native_dropout", dtypes="floating_complex", half="native")
def native_dropout(input: Array, p: float, train: bool | None) -> tuple[Array, Array]:
    if not 0 <= p <= 1:
        raise ValueError("no probability, which the shape rule refuses")
    if train is False:
        return input.copy(), np.ones(input.shape, np.bool_)
    mask = _below(None, input.size, threshold(1 - p)).reshape(input.shape)
    return native_dropout_backward(input, mask, 1 / (1 - p) if p < 1 else 0.0), mask


@cpu.kernel("native_dropout_backward", dtypes="floating_complex", half="native")
def native_dropout_backward(grad_output: Array, mask: Array, scale: float) -> Array:
    if mask.shape != grad_output.shape or mask.dtype != np.bool_:
        raise ValueError("a mask of another shape, which the shape rule refuses")
    factor = mask.astype(grad_output.real.dtype)
    # The product is computed for dropped elements, too: their infinities and NaN give NaN, as in PyTorch.
    factor *= factor.dtype.type(scale)
    return np.asarray(grad_output * factor, order="C")


# --- complex numbers of four bytes ---------------------------------------------------------------------------

for _op, _function in (("rand", rand), ("randn", randn)):
    cpu.kernel(_op, rounded(_function), dtypes="complex32", takes=("size", "generator", "dtype"))
