"""Native kernels of products of vectors, matrices and batches of matrices, unless BLAS is asked to serve."""

from __future__ import annotations

import os
from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable, errors

__all__ = ["VARIABLE", "blas_serves", "cpu", "serving"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("products")

VARIABLE: Final = "TT_PRODUCTS"
CHOICES: Final = ("native", "blas")

DTYPES: Final = ("float32", "float64")
ATTENTION: Final = ("query", "key", "value", "mask", "is_causal", "scale")
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

OTHERS: Final = {
    "outer": ("self", "vec2"),
    "_attention": ATTENTION,
    "_attention_backward": ("grad", *ATTENTION[:4], "output", "logsumexp", *ATTENTION[4:]),
}


def blas_serves() -> bool:
    """Return whether NumPy's BLAS computes products of matrices, because TT_PRODUCTS says so.

    Raises
    ------
    ConfigurationError
        If TT_PRODUCTS holds another word than `native` or `blas`.
    """
    asked = os.environ.get(VARIABLE) or CHOICES[0]
    if asked not in CHOICES:
        raise errors.ConfigurationError(
            f"{VARIABLE}={asked}", f"unknown choice; known: {', '.join(CHOICES)}", hint=f"unset {VARIABLE}"
        )
    return asked == "blas"


def serving() -> str:
    """Return what computes products of float32 and float64 matrices: `native kernels` or `NumPy's BLAS`.

    Examples
    --------
    >>> from tt.backends.cpu.native.products import serving
    >>> serving() in ("native kernels", "NumPy's BLAS")
    True
    """
    return "NumPy's BLAS" if NATIVE is None or blas_serves() else "native kernels"


def _unavailable() -> str | None:
    return f"{VARIABLE}=blas" if blas_serves() else None


if NATIVE is not None:
    for _op, _takes in OTHERS.items():
        cpu.kernel(_op, getattr(NATIVE, _op), dtypes=DTYPES, takes=_takes, native=True)
    for _op, _takes in (*PRODUCTS.items(), *(("addmm", _takes) for _takes in SUMS)):
        cpu.kernel(
            _op,
            getattr(NATIVE, _op),
            dtypes=DTYPES,
            takes=_takes,
            native=True,
            available=_unavailable,
        )
