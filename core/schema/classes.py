"""Named classes of dtypes, used by `dtypes:` in ops.yaml and by kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from tt.core.errors import UnknownNameError
from tt.core.types.dtype import ALL_DTYPES, CODED, DTYPES, QUANTIZED, STORED, DtypeKind

__all__ = ["DTYPE_CLASSES", "DTYPE_NAMES", "dtype_names", "dtype_set"]

DTYPE_NAMES: Final = tuple(d.name for d in CODED)


def _of(*kinds: DtypeKind) -> frozenset[str]:
    return frozenset(d.name for d in DTYPES if d.kind in kinds)


DTYPE_CLASSES: Final[Mapping[str, frozenset[str]]] = MappingProxyType({
    "all": frozenset(d.name for d in DTYPES),
    "any": frozenset(d.name for d in ALL_DTYPES),
    "float8": frozenset(d.name for d in STORED),
    "quantized": frozenset(d.name for d in QUANTIZED),
    "number": _of("unsigned", "signed", "floating", "complex"),
    "integral": _of("unsigned", "signed"),
    "integral_bool": _of("bool", "unsigned", "signed"),
    "floating": _of("floating"),
    "complex": _of("complex"),
    "floating_complex": _of("floating", "complex"),
    "real": _of("bool", "unsigned", "signed", "floating"),
    "real_number": _of("unsigned", "signed", "floating"),
    "linalg": frozenset({"float32", "float64", "complex64", "complex128"}),
})  # fmt: skip
"""Class name -> the names of its dtypes.

all               every dtype in which operators compute: not float8, quantized, or complex32, which complex64 serves
any               every dtype but quantized: of operators that make, move and compare elements and compute nothing
float8            the dtypes of eight bits, which tensors only store
quantized         the dtypes of quantized tensors
number            all but bool
integral          signed and unsigned integers
integral_bool     integers and bool
floating          float16, bfloat16, float32, float64
complex           complex64, complex128
floating_complex  floating and complex
real              all but complex
real_number       integers and floating
linalg            dtypes of decompositions: single and double precision, real and complex
"""


@cache
def _names(words: tuple[str, ...]) -> tuple[str, ...]:
    names: set[str] = set()
    for word in words:
        if word in DTYPE_CLASSES:
            names |= DTYPE_CLASSES[word]
        elif word in DTYPE_NAMES:
            names.add(word)
        else:
            raise UnknownNameError("dtype or class of dtypes", word, (*DTYPE_CLASSES, *DTYPE_NAMES))
    # In the order of the dtypes, whatever the order of the words: the names are compared and printed.
    return tuple(name for name in DTYPE_NAMES if name in names)


def dtype_names(dtypes: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names of the dtypes that a class, a name or several of them denote.

    Parameters
    ----------
    dtypes : str or iterable of str
        For instance "floating", "int64" or ("floating", "bool").

    Raises
    ------
    UnknownNameError
        For a word that is neither.

    Examples
    --------
    >>> from tt.core.schema.classes import dtype_names
    >>> dtype_names("complex"), dtype_names(("bool", "int64"))
    (('complex64', 'complex128'), ('bool', 'int64'))
    """
    return _names((dtypes,) if isinstance(dtypes, str) else tuple(dtypes))


def dtype_set(dtypes: str | Iterable[str]) -> frozenset[str]:
    """Return the same names as a set, which is the class's own where one class is given."""
    members = DTYPE_CLASSES.get(dtypes) if isinstance(dtypes, str) else None
    return frozenset(dtype_names(dtypes)) if members is None else members
