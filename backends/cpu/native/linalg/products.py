"""Native kernels of products of vectors, matrices and batches of matrices, unless BLAS is asked to serve."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Final

from tt.backends.cpu.linalg import sums
from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable, errors

if TYPE_CHECKING:
    from tt.backends.cpu.blas import Blas

__all__ = ["VARIABLE", "blas_serves", "cpu", "serving"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("products")

VARIABLE: Final = "TT_PRODUCTS"
WORDS: Final = ("native", "blas", "mkl", "scipy")

DTYPES: Final = ("float32", "float64")
INTEGERS: Final = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
PRODUCTS: Final = {
    "mm": ("self", "mat2"),
    "mv": ("self", "vec"),
    "dot": ("self", "tensor"),
    "bmm": ("self", "mat2"),
    "matmul": ("self", "other"),
    "linear": ("input", "weight", "bias"),
}
"""What NumPy's BLAS computes, too."""

SUMS: Final = (("self", "mat1", "mat2"), ("self", "mat1", "mat2", "beta", "alpha"))
"""The arguments of `addmm`, without factors and with them."""


def asked() -> str:
    """Return the value of TT_PRODUCTS: one of `WORDS`, or what looks like a library: a path, or a name with a dot.

    Raises
    ------
    ConfigurationError
        If it is another word.
    """
    value = os.environ.get(VARIABLE) or WORDS[0]
    # A mark of a path means a library; any other unknown word is a mistake in writing.
    if value not in WORDS and not any(mark in value for mark in (os.sep, "/", ".")):
        raise errors.ConfigurationError(
            f"{VARIABLE}={value}",
            f"unknown choice; known: {', '.join(WORDS)}, and the path or file name of a library with the interface "
            "of CBLAS (/opt/blis/lib/libblis.so, libblis.so.4)",
            hint=f"unset {VARIABLE}",
        )
    return value


def blas_serves() -> bool:
    """Return whether NumPy's BLAS computes products of matrices, because TT_PRODUCTS says so.

    Raises
    ------
    ConfigurationError
        If TT_PRODUCTS is an unknown word, or names a library that cannot serve.
    """
    word = asked()
    if word not in ("native", "blas"):
        library(word)
    return word == "blas"


@cache
def library(word: str) -> Blas:
    """Let the native kernels multiply by the library that a value of TT_PRODUCTS names, and return it.

    Raises
    ------
    ConfigurationError
        If it cannot be loaded, or has no products of matrices.
    """
    from tt.backends.cpu import blas  # seldom needed

    chosen = blas.named(word)
    NATIVE._serve_by(chosen.single, chosen.double, chosen.fortran, chosen.whole)
    return chosen


def serving() -> str:
    """Return what computes products of float32 and float64 matrices: `native kernels`, `NumPy's BLAS`, or a library.

    Examples
    --------
    >>> from tt.backends.cpu.native.linalg.products import serving
    >>> isinstance(serving(), str)
    True
    """
    word = asked()
    if NATIVE is None or word == "blas":
        return "NumPy's BLAS"
    return "native kernels" if word == "native" else library(word).name


def _unavailable() -> str | None:
    return f"{VARIABLE}=blas" if blas_serves() else None


if NATIVE is not None:
    cpu.kernel("outer", NATIVE.outer, dtypes=DTYPES, takes=("self", "vec2"), native=True)
    for _op, _takes in (*PRODUCTS.items(), *(("addmm", _takes) for _takes in SUMS)):
        cpu.kernel(
            _op,
            getattr(NATIVE, _op),
            dtypes=DTYPES,
            takes=_takes,
            native=True,
            available=_unavailable,
        )
    # No BLAS multiplies integers, so that TT_PRODUCTS does not concern them.
    for _op, _takes in PRODUCTS.items():
        cpu.kernel(_op, getattr(NATIVE, _op), dtypes=INTEGERS, takes=_takes, native=True)
    for _op, _added in sums(NATIVE.matmul, NATIVE.bmm).items():
        _plain = NATIVE.addmm if _op == "addmm" else _added.plain
        _takes = ("self", *_added.names)
        cpu.kernel(_op, _plain, dtypes=INTEGERS, takes=_takes, native=True)
        cpu.kernel(_op, _added.with_factors, dtypes=INTEGERS, takes=(*_takes, "beta", "alpha"), native=True)
