"""Type promotion: PyTorch's rules as a pure function of a bit set.

Note [Level 2]
--------------
Every argument of a promotion group sets one bit: each dtype has two (a tensor with dimensions, a zero-dimensional
one) and each kind of Python scalar has one.  PyTorch's result depends only on which of these occur, so it is a
function of the OR, and one dictionary look-up finds it after the first call.

The bits of a call make two words.  The first holds the dtypes of a promotion group, two bits for each of at most 32.
The second holds the Python scalars of the group, and then one position for each dtype that counts by itself: of
other tensors, of a target, of `dtype=`.  Where the positions of a long signature do not fit, their dtypes together
have a number, and the second word is that number, below zero.  To Python code the bits are one integer without a limit;
`split_bits` and `join_bits` convert.

The rule has three ranks: tensors with dimensions, zero-dimensional tensors, Python scalars.  A lower rank counts
only when its category (bool, integral, floating, complex) is higher than that of the ranks above it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache, lru_cache, reduce
from typing import Any, Final

from tt.core.errors import DtypeError, PromotionError
from tt.core.forks import fork_safe_lock
from tt.core.types import dtype as dt
from tt.core.types.dtype import CODED, QUANTIZED, STORED, dtype, to_dtype
from tt.core.types.state import STATE, changed

__all__ = [
    "DIM_BITS",
    "SCALAR_BITS",
    "SCALAR_MASK",
    "ZERO_DIM_BITS",
    "can_cast",
    "default_dtype",
    "describe_bits",
    "get_default_dtype",
    "promote_bits",
    "promote_types",
    "result_type",
    "scalar_bit",
    "set_default_dtype",
]

DIM_BITS: Final = tuple(1 << (2 * code) for code in range(len(CODED)))
ZERO_DIM_BITS: Final = tuple(2 << (2 * code) for code in range(len(CODED)))
MAX_DTYPES: Final = 32
WORD: Final = 2 * MAX_DTYPES
"""Width of the first word of the bits of a call."""
SCALAR_BITS: Final[dict[type, int]] = {
    bool: 1 << WORD,
    int: 2 << WORD,
    float: 4 << WORD,
    complex: 8 << WORD,
}
SCALAR_WORDS: Final = {kind: bit >> WORD for kind, bit in SCALAR_BITS.items()}
"""What numbers of Python are in the second word."""
GROUP_BITS: Final = WORD + len(SCALAR_BITS)
"""Width of the bit set of a promotion group; the positions start here."""
POSITION_BITS: Final = 6
"""Width of a position: one of `MAX_DTYPES` dtypes, or none."""
LAST_SHIFT: Final = 62 - POSITION_BITS
"""Where the last position stands that fits into the second word."""
SCALAR_MASK: Final = sum(SCALAR_BITS.values())

# --- the two words ---------------------------------------------------------------------------------------------

_numbers: dict[int, int] = {}
_numbered: list[int] = []
_numbering = fork_safe_lock()


def split_bits(bits: int) -> tuple[int, int]:
    """Return the two words of the bits of a call.

    Examples
    --------
    >>> from tt.core.types.promotion import SCALAR_BITS, split_bits
    >>> split_bits(5 | SCALAR_BITS[float])
    (5, 4)
    """
    positions = bits >> WORD
    if positions >> 62:
        with _numbering:
            number = _numbers.get(positions)
            if number is None:
                # In the list first: another thread that reads the number finds what it stands for.
                _numbered.append(positions)
                number = _numbers[positions] = -len(_numbered)
        positions = number
    return bits & ((1 << WORD) - 1), positions


def join_bits(bits: int, positions: int) -> int:
    """Return the bits of a call from their two words."""
    return bits | (positions if positions >= 0 else _numbered[-positions - 1]) << WORD


def position_at(bits: int, shift: int) -> int:
    """Return the field at one position of the bits of a call: the code of a dtype plus 1, or 0."""
    return bits >> shift & ((1 << POSITION_BITS) - 1)


def numbered(positions: int, beyond: list[tuple[int, int]]) -> int:
    """Return the second word of a long signature, from what fits and (code, shift) of what does not."""
    for code, shift in beyond:
        positions |= code << shift
    return split_bits(positions << WORD)[1]


# --- two dtypes ------------------------------------------------------------------------------------------------

_RANK: Final = {d: rank for rank, d in enumerate(
    (dt.bool_, dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64, dt.float16, dt.bfloat16,
     dt.float32, dt.float64, dt.complex32, dt.complex64, dt.complex128)
)}  # fmt: skip
_WIDE_UNSIGNED: Final = (dt.uint16, dt.uint32, dt.uint64)
_SIGNED: Final = (dt.int8, dt.int16, dt.int32, dt.int64)


@cache
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Return the smallest dtype that holds both, as PyTorch defines it.

    PyTorch refuses most pairs with uint16, uint32 and uint64; here they promote as the array API standard says.

    Raises
    ------
    PromotionError
        For uint64 and a signed integer dtype, and for a float8 or quantized dtype with any other.

    Examples
    --------
    >>> import tt
    >>> tt.promote_types(tt.int32, tt.float16), tt.promote_types(tt.uint8, tt.int8)
    (tt.float16, tt.int16)
    """
    if type1 is type2:
        return type1
    if any(d in STORED or d in QUANTIZED for d in (type1, type2)):
        raise PromotionError(type1.name, type2.name)
    for wide, other in ((type1, type2), (type2, type1)):
        if wide in _WIDE_UNSIGNED:
            if other.is_floating_point or other.is_complex:
                return other
            if other not in _SIGNED:
                return wide if other.itemsize < wide.itemsize else other
            if wide is dt.uint64:
                raise PromotionError(type1.name, type2.name)
            # A signed dtype holds the numbers of an unsigned one only if it is twice as wide.
            size = max(2 * wide.itemsize, other.itemsize)
            # uint64 was refused above, so that a signed dtype of twice the width exists.
            return next(signed for signed in _SIGNED if signed.itemsize == size)
    low, high = sorted((type1, type2), key=_RANK.__getitem__)
    if (low, high) == (dt.uint8, dt.int8):
        return dt.int16
    # One has more digits, the other a larger range.
    if (low, high) == (dt.float16, dt.bfloat16):
        return dt.float32
    # The parts of complex64 are of float32, which do not hold float64.
    if low is dt.float64 and high.is_complex:
        return dt.complex128
    # The parts of complex32 are of float16, which holds neither.
    if low in (dt.bfloat16, dt.float32) and high is dt.complex32:
        return dt.complex64
    return high


# --- a set of dtypes and scalars -------------------------------------------------------------------------------


def _dtypes(bits: int, table: tuple[int, ...]) -> list[dtype]:
    return [d for d, bit in zip(CODED, table, strict=True) if bits & bit]


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    """Join the results of two ranks: the lower one counts only if its category is higher."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_complex:
        return higher
    if higher.is_floating_point:
        if lower.is_complex and higher in STORED:
            raise PromotionError(higher.name, lower.name)
        # A lower rank gives its category and not its width: float64 with 1j is complex128.
        return higher.to_complex() if lower.is_complex else higher
    if lower.is_complex:
        # Across ranks PyTorch lets even the wide unsigned dtypes meet complex ones.
        return lower
    if higher is dt.bool_ or lower.is_floating_point:
        return promote_types(higher, lower)
    return higher


_QUANTIZED_BITS: Final = sum(DIM_BITS[d.code] | ZERO_DIM_BITS[d.code] for d in QUANTIZED)

_SCALAR_DTYPES: Final[dict[type, Callable[[dtype], dtype]]] = {
    bool: lambda default: dt.bool_,
    int: lambda default: dt.int64,
    float: lambda default: default,
    complex: lambda default: default.to_complex(),
}


@lru_cache(maxsize=4096)
def promote_bits(bits: int, default: dtype) -> dtype:
    """Return the result dtype of a promotion group from its bit set (see Note [Level 2]).

    Parameters
    ----------
    bits : int
        The OR of `DIM_BITS`, `ZERO_DIM_BITS` and `SCALAR_BITS` entries; at least one.
    default : dtype
        The default dtype, which Python floats and complex numbers take.

    Notes
    -----
    Quantized dtypes promote with nothing.  A group with one has its dtype, so that the kernels of quantized tensors
    decide whether they take the other arguments.
    """
    if bits & _QUANTIZED_BITS:
        # The bit of a zero-dimensional tensor lies above that of one with dimensions, so the shift joins the two.
        return _dtypes(bits | bits >> 1, DIM_BITS)[-1]
    dims = _dtypes(bits, DIM_BITS)
    zero_dims = _dtypes(bits, ZERO_DIM_BITS)
    scalars = [make(default) for kind, make in _SCALAR_DTYPES.items() if bits & SCALAR_BITS[kind]]
    ranks = [reduce(promote_types, rank) if rank else None for rank in (dims, zero_dims, scalars)]
    result = _combine(_combine(ranks[0], ranks[1]), ranks[2])
    if result is None:
        raise DtypeError("a promotion group without arguments has no dtype")
    return result


def scalar_bit(value: Any) -> int:
    """Return the level-2 bit of a Python scalar, or 0 when the value is none."""
    for kind in (bool, int, float, complex):
        if isinstance(value, kind):
            return SCALAR_BITS[kind]
    return 0


def describe_bits(bits: int) -> str:
    """Return a promotion group in words, for instance "float32 int64() float", () marking zero-dimensional."""
    words = [d.name for d in _dtypes(bits, DIM_BITS)]
    words += [f"{d.name}()" for d in _dtypes(bits, ZERO_DIM_BITS)]
    words += [f"scalar {kind.__name__}" for kind, bit in SCALAR_BITS.items() if bits & bit]
    return " ".join(words)


def group_bit(value: Any) -> int:
    """Return the level-2 bit of one argument: a tensor, a dtype (as with dimensions) or a Python scalar."""
    if isinstance(value, dtype):
        return DIM_BITS[value.code]
    bits = getattr(value, "_promotion", None)
    if isinstance(bits, int):
        return bits
    bit = scalar_bit(value)
    if not bit:
        raise TypeError(f"result_type() takes tensors and Python numbers, not {type(value).__name__}")
    return bit


def result_type(*tensors_and_scalars: Any) -> dtype:
    """Return the dtype that an arithmetic operation of the arguments would have.

    Parameters
    ----------
    *tensors_and_scalars : Tensor or bool, int, float, complex
        Two in PyTorch; any number here.

    Raises
    ------
    PromotionError
        For a quantized dtype with any other.

    Examples
    --------
    >>> import tt
    >>> tt.result_type(tt.tensor([1, 2]), 1.0)
    tt.float32
    """
    bits = 0
    for value in tensors_and_scalars:
        bits |= group_bit(value)
    result = promote_bits(bits, get_default_dtype())
    if result in QUANTIZED:
        _refuse_others(result, bits)
    return result


def _refuse_others(quantized: dtype, bits: int) -> None:
    """Raise if a group has another dtype than a quantized one, or a number."""
    words = describe_bits(bits & ~(DIM_BITS[quantized.code] | ZERO_DIM_BITS[quantized.code]))
    if words:
        raise PromotionError(quantized.name, words.split()[-1].removesuffix("()"))


_CATEGORY: Final = {"bool": 0, "unsigned": 1, "signed": 1, "floating": 2, "complex": 3}


def can_cast(from_: dtype, to: dtype) -> bool:
    """Return whether PyTorch permits storing `from_` in `to` without an explicit conversion.

    Examples
    --------
    >>> import tt
    >>> tt.can_cast(tt.float64, tt.float32), tt.can_cast(tt.float32, tt.int64)
    (True, False)
    """
    if from_ in QUANTIZED or to in QUANTIZED:
        return from_ is to
    return _CATEGORY[from_.kind] <= _CATEGORY[to.kind]


# --- the default dtype -----------------------------------------------------------------------------------------


def get_default_dtype() -> dtype:
    """Return the dtype that Python floats take.

    Examples
    --------
    >>> import tt
    >>> tt.get_default_dtype()
    tt.float32
    """
    return STATE.default_dtype


def set_default_dtype(d: dtype | str) -> None:
    """Set the dtype that Python floats take; it must be a floating point dtype.

    Raises
    ------
    TypeError
        For any other dtype.

    See Also
    --------
    default_dtype : the same for a block of code.
    """
    STATE.set_default_dtype(_floating(d))


def _floating(d: dtype | str) -> dtype:
    floating = to_dtype(d)
    if not floating.is_floating_point or floating in STORED:
        raise TypeError(f"only floating-point types are supported as the default type, not {floating}")
    return floating


def default_dtype(d: dtype | str) -> AbstractContextManager[None]:
    """Use another default dtype inside a `with` block.

    Examples
    --------
    >>> import tt
    >>> with tt.default_dtype(tt.float64):
    ...     tt.tensor(1.5).dtype
    tt.float64
    """
    return changed("default_dtype", _floating(d))
