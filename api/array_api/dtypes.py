"""Dtypes: their limits, kinds and promotion."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import tt
from tt.array_api._promotion import SIGNED, UNSIGNED, number_as_tensor, promote_all

Array: TypeAlias = tt.Tensor
Device: TypeAlias = tt.device | str | None

__all__ = ["KINDS", "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

_REAL: Final = (tt.float16, tt.bfloat16, tt.float32, tt.float64)
_COMPLEX: Final = (tt.complex64, tt.complex128)
KINDS: Final[dict[str, tuple[tt.dtype, ...]]] = {
    "bool": (tt.bool,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": _REAL,
    "complex floating": _COMPLEX,
    "numeric": SIGNED + UNSIGNED + _REAL + _COMPLEX,
}


def astype(x: Array, dtype: tt.dtype, /, *, copy: bool = True, device: Device = None) -> Array:
    """Return an array in another dtype, and on another device; a copy unless `copy` is False and none is needed.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.astype(xp.asarray([1.5, -2.5]), xp.int64)
    tensor([ 1, -2])
    """
    return x.to(device=x.device if device is None else device, dtype=dtype, copy=copy)


def can_cast(from_: tt.dtype | Array, to: tt.dtype, /) -> bool:
    """Return whether promotion leads from one dtype to the other.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.can_cast(xp.int8, xp.int32), xp.can_cast(xp.int64, xp.int32)
    (True, False)
    """
    source = from_.dtype if isinstance(from_, tt.Tensor) else from_
    try:
        return promote_all([source, to]) is to
    except tt.errors.PromotionError:
        return False


class finfo:  # noqa: N801 - the standard's name
    """The limits of a floating-point dtype (of the parts of a complex one), as Python numbers, with their dtype.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> info = xp.finfo(xp.complex64)
    >>> info.bits, info.dtype
    (32, tt.float32)
    """

    def __init__(self, type: tt.dtype | Array, /) -> None:
        limits = tt.finfo(type.dtype if isinstance(type, tt.Tensor) else type)
        self.bits: int = limits.bits
        self.eps, self.max, self.min = float(limits.eps), float(limits.max), float(limits.min)
        self.smallest_normal = float(limits.smallest_normal)
        dtype = type.dtype if isinstance(type, tt.Tensor) else type
        self.dtype: tt.dtype = dtype.to_real() if dtype.is_complex else dtype


class iinfo:  # noqa: N801 - the standard's name
    """The limits of an integer dtype, as Python numbers, with the dtype.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.iinfo(xp.uint8).max
    255
    """

    def __init__(self, type: tt.dtype | Array, /) -> None:
        self.dtype: tt.dtype = type.dtype if isinstance(type, tt.Tensor) else type
        limits = tt.iinfo(self.dtype)
        self.bits, self.max, self.min = limits.bits, limits.max, limits.min


def isdtype(dtype: tt.dtype, kind: tt.dtype | str | tuple[tt.dtype | str, ...]) -> bool:
    """Return whether a dtype is another one, or of a kind, or any of several.

    Raises
    ------
    ValueError
        For a name that is not a kind.
    TypeError
        For anything but a name or a dtype.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.isdtype(xp.uint8, "integral"), xp.isdtype(xp.uint8, ("bool", xp.float32))
    (True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is not a kind of dtypes\n  kinds: {', '.join(map(repr, KINDS))}")
        return dtype in KINDS[kind]
    if not isinstance(kind, tt.dtype):
        raise TypeError(f"kind must be a dtype, a name or a tuple of these, not {type(kind).__name__}")
    return dtype is kind


def result_type(*arrays_and_dtypes: Any) -> tt.dtype:
    """Return the dtype that arrays, dtypes and Python numbers have in common.

    Raises
    ------
    TypeError
        Without any array or dtype.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.result_type(xp.uint16, xp.ones(2, dtype=xp.int8), 3)
    tt.int32
    """
    dtypes = [item.dtype if isinstance(item, tt.Tensor) else item for item in arrays_and_dtypes]
    numbers = [item for item in dtypes if not isinstance(item, tt.dtype)]
    kinds = [item for item in dtypes if isinstance(item, tt.dtype)]
    if not kinds:
        raise TypeError("result_type() needs an array or a dtype")
    dtype = promote_all(kinds)
    # Stands for the dtype beside numbers, without memory.
    like = tt.empty((0,), dtype=dtype, device="meta")
    for number in numbers:
        dtype = promote_all([dtype, number_as_tensor(number, like).dtype])
    return dtype
