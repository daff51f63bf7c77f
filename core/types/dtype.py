"""Data types: PyTorch's names over NumPy's (and ml_dtypes') representations.

Each dtype has a code from 0 to 23.  The codes are the basis of level 2 of the dispatcher: `promotion` makes a
bit set of them.

Note [Stored dtypes]
--------------------
Operators compute in the fifteen dtypes of `DTYPES`.  The dtypes of eight bits in `STORED` are for storage: tensors of
them are made, converted, copied, viewed, indexed and compared, and multiplied by `_scaled_mm`; arithmetic refuses them.

complex32 belongs to neither: kernels that only move elements serve it, and every other kernel of complex64 computes
it in complex64, of which the result is rounded.  `ALL_DTYPES` holds all of them.

Note [Quantized dtypes]
-----------------------
A number of a dtype in `QUANTIZED` is an integer that means nothing without a scale and a zero point.  So strided
tensors never have these dtypes, and no class of dtypes but their own contains them; only kernels that name them serve
them.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import ml_dtypes
import numpy as np

from tt.core.errors import DtypeError, UnknownNameError
from tt.core.types.spelling import SPELLING

__all__ = [
    "ALL_DTYPES",
    "CODED",
    "DTYPES",
    "QUANTIZED",
    "STORED",
    "DtypeKind",
    "dtype",
    "finfo",
    "from_numpy_dtype",
    "iinfo",
    "to_dtype",
]

DtypeKind = Literal["bool", "unsigned", "signed", "floating", "complex", "quantized"]


class dtype:  # noqa: N801 - PyTorch's name
    """The type of a tensor's elements.

    There is one object per dtype, so `is` and `==` agree.

    Attributes
    ----------
    name : str
        For instance "float32".
    code : int
        0 to 23; the position of the dtype in the level-2 bit set.
    kind : str
        bool, unsigned, signed, floating, complex or quantized.
    itemsize : int
        Bytes of an element.
    numpy : numpy.dtype
        The representation on the CPU; of a quantized dtype, that of its integers.

    Examples
    --------
    >>> import tt
    >>> tt.float32
    tt.float32
    >>> tt.float32.itemsize, tt.float32.is_floating_point, tt.complex64.to_real()
    (4, True, tt.float32)
    """

    __slots__ = (
        "__weakref__",
        "code",
        "is_complex",
        "is_floating_point",
        "itemsize",
        "kind",
        "name",
        "numpy",
    )

    def __init__(self, name: str, code: int, kind: DtypeKind, numpy: np.dtype[Any]) -> None:
        self.name, self.code, self.kind, self.numpy = name, code, kind, numpy
        self.itemsize: int = numpy.itemsize
        self.is_floating_point = kind == "floating"
        self.is_complex = kind == "complex"

    @property
    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers.

        Raises
        ------
        DtypeError
            For quantized dtypes, whose numbers are scaled integers.
        """
        if self.kind == "quantized":
            raise DtypeError(f"is_signed: {self} is quantized, and its sign depends on the zero point")
        # A power of two, of which only the exponent is stored.
        return self.kind in ("signed", "floating", "complex") and self.name != "float8_e8m0fnu"

    def __repr__(self) -> str:
        return f"{SPELLING.package}.{self.name}"

    def __str__(self) -> str:
        return f"{SPELLING.package}.{self.name}"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return to_dtype, (self.name,)

    def to_real(self) -> dtype:
        """Return the dtype of the real part."""
        return {"complex32": float16, "complex64": float32, "complex128": float64}.get(self.name, self)

    def to_complex(self) -> dtype:
        """Return the complex dtype whose parts have at least this precision."""
        if self in STORED or self in QUANTIZED:
            raise TypeError(f"no complex dtype corresponds to {self}")
        if self in (float64, complex128):
            return complex128
        return complex32 if self in (float16, complex32) else complex64


def _make(name: str, code: int, kind: DtypeKind, numpy: Any) -> dtype:
    return dtype(name, code, kind, np.dtype(numpy))


bool_: Final = _make("bool", 0, "bool", np.bool_)
uint8: Final = _make("uint8", 1, "unsigned", np.uint8)
int8: Final = _make("int8", 2, "signed", np.int8)
int16: Final = _make("int16", 3, "signed", np.int16)
int32: Final = _make("int32", 4, "signed", np.int32)
int64: Final = _make("int64", 5, "signed", np.int64)
uint16: Final = _make("uint16", 6, "unsigned", np.uint16)
uint32: Final = _make("uint32", 7, "unsigned", np.uint32)
uint64: Final = _make("uint64", 8, "unsigned", np.uint64)
float16: Final = _make("float16", 9, "floating", np.float16)
bfloat16: Final = _make("bfloat16", 10, "floating", ml_dtypes.bfloat16)
float32: Final = _make("float32", 11, "floating", np.float32)
float64: Final = _make("float64", 12, "floating", np.float64)
complex64: Final = _make("complex64", 13, "complex", np.complex64)
complex128: Final = _make("complex128", 14, "complex", np.complex128)
float8_e4m3fn: Final = _make("float8_e4m3fn", 15, "floating", ml_dtypes.float8_e4m3fn)
float8_e5m2: Final = _make("float8_e5m2", 16, "floating", ml_dtypes.float8_e5m2)
float8_e4m3fnuz: Final = _make("float8_e4m3fnuz", 17, "floating", ml_dtypes.float8_e4m3fnuz)
float8_e5m2fnuz: Final = _make("float8_e5m2fnuz", 18, "floating", ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu: Final = _make("float8_e8m0fnu", 19, "floating", ml_dtypes.float8_e8m0fnu)
complex32: Final = _make("complex32", 20, "complex", ml_dtypes.complex32)
qint8: Final = _make("qint8", 21, "quantized", np.int8)
quint8: Final = _make("quint8", 22, "quantized", np.uint8)
qint32: Final = _make("qint32", 23, "quantized", np.int32)

DTYPES: Final[tuple[dtype, ...]] = (
    bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, complex64, complex128,
)  # fmt: skip
"""The dtypes that operators compute in, each at the position of its code."""
STORED: Final[tuple[dtype, ...]] = (
    float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu,
)  # fmt: skip
"""The dtypes that tensors only store; see Note [Stored dtypes]."""
ALL_DTYPES: Final = (*DTYPES, *STORED, complex32)
"""Every dtype of strided tensors, at the position of its code."""
QUANTIZED: Final[tuple[dtype, ...]] = (qint8, quint8, qint32)
"""The dtypes of quantized tensors; see Note [Quantized dtypes]."""
CODED: Final = ALL_DTYPES + QUANTIZED
"""Every dtype, at the position of its code."""

_BY_NAME: Final = {d.name: d for d in CODED} | {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
    "chalf": complex32, "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip
# Not the quantized ones: their NumPy dtypes are those of plain integers.
_BY_NUMPY: Final = {d.numpy: d for d in ALL_DTYPES}
_BY_PYTHON: Final[dict[Any, dtype]] = {bool: bool_, int: int64, float: float64, complex: complex128}


def from_numpy_dtype(numpy: Any) -> dtype:
    """Return the dtype of a NumPy dtype.

    Raises
    ------
    TypeError
        When tt has no such dtype (strings, objects, datetimes, long double).

    Examples
    --------
    >>> import numpy as np
    >>> from tt.library import ALL_DTYPES, from_numpy_dtype
    >>> from_numpy_dtype(np.dtype("f4"))
    tt.float32
    >>> {from_numpy_dtype(dtype.numpy) for dtype in ALL_DTYPES} == {*ALL_DTYPES}
    True
    """
    match = _BY_NUMPY.get(numpy) if isinstance(numpy, np.dtype) else None
    if match is None:  # making a dtype takes ten times as long as looking one up
        # The byte order is no part of a dtype.
        match = _BY_NUMPY.get(np.dtype(numpy).newbyteorder("="))
    if match is None:
        names = ", ".join(d.name for d in ALL_DTYPES)
        raise TypeError(f"no dtype corresponds to a NumPy array of {np.dtype(numpy)}; supported are: {names}")
    return match


def to_dtype(value: Any) -> dtype:
    """Return the dtype that a user means: a dtype, its name, or bool, int, float, complex.

    A Python `float` means float64 here as it does in PyTorch's `dtype=` arguments.

    Raises
    ------
    UnknownNameError
        When it is none.

    Examples
    --------
    >>> from tt.library import ALL_DTYPES, QUANTIZED, to_dtype
    >>> to_dtype("float32"), to_dtype(int)
    (tt.float32, tt.int64)
    >>> to_dtype("qint8") in QUANTIZED, to_dtype("qint8") in ALL_DTYPES
    (True, False)
    """
    if isinstance(value, dtype):
        return value
    if isinstance(value, str):
        # `str(dtype)` and PyTorch's names in configuration files read back.
        name = value.removeprefix("tt.").removeprefix("torch.")
        if name in _BY_NAME:
            return _BY_NAME[name]
        raise UnknownNameError("dtype", value, _BY_NAME)
    try:
        if value in _BY_PYTHON:
            return _BY_PYTHON[value]
        return from_numpy_dtype(value)
    except TypeError:
        raise UnknownNameError("dtype", repr(value), _BY_NAME) from None


# --- limits ----------------------------------------------------------------------------------------------------


def _is_one_of(type: object, kinds: tuple[str, ...]) -> bool:
    return isinstance(type, dtype) and type.kind in kinds


class finfo:  # noqa: N801 - PyTorch's name
    """The numerical limits of a floating point dtype (of the real part, for a complex one).

    Attributes: bits, eps, max, min, tiny, smallest_normal, resolution, dtype.

    Examples
    --------
    >>> import tt
    >>> tt.finfo(tt.float32).eps
    1.1920928955078125e-07
    >>> tt.finfo(tt.bfloat16).max
    3.3895313892515355e+38
    """

    def __init__(self, type: dtype | None = None) -> None:
        from tt.core.types.promotion import get_default_dtype  # which is made of dtypes

        type = get_default_dtype() if type is None else type
        if not _is_one_of(type, ("floating", "complex")):
            raise TypeError(
                f"finfo() requires a floating point or complex dtype, but got {type!r}; use iinfo() for integers"
            )
        real = type.to_real()
        # NumPy's `finfo` does not know the dtypes of ml_dtypes.
        own = real is bfloat16 or real in STORED
        info = ml_dtypes.finfo(real.numpy) if own else np.finfo(real.numpy)
        self.dtype: str = real.name
        self.bits = int(info.bits)
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        # As in PyTorch.
        self.resolution = 1.0 if real in STORED else 10.0 ** -int(info.precision)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:  # noqa: N801 - PyTorch's name
    """The numerical limits of an integer dtype.

    Attributes: bits, max, min, dtype.

    Examples
    --------
    >>> import tt
    >>> tt.iinfo(tt.int16)
    iinfo(min=-32768, max=32767, dtype=int16)
    """

    def __init__(self, type: dtype) -> None:
        if not _is_one_of(type, ("signed", "unsigned")):
            raise TypeError(
                f"iinfo() requires an integer dtype, but got {type!r}; use finfo() for floating point"
            )
        info = np.iinfo(type.numpy)
        self.dtype: str = type.name
        self.bits, self.max, self.min = int(info.bits), int(info.max), int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
