"""The BLAS that computes products of float32 and float64 matrices instead of the native kernels: TT_PRODUCTS names it.

`native` and `blas` (NumPy's, called through NumPy) need no library here.  `mkl`, `scipy` and the path or name of a
shared library are called by the functions of their own interface, C's (`cblas_sgemm`) or Fortran's (`sgemm_`), with the
operands of the native kernels, which divide a product between threads where the library has none.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final, NamedTuple

from tt.backends.cpu import mkl
from tt.backends.cpu.threads import govern
from tt.core.library import errors

__all__ = ["VARIABLE", "Blas", "named"]

VARIABLE: Final = "TT_PRODUCTS"

C_NAMES: Final = ("cblas_{}gemm", "cblas_{}gemm64_", "cblas_{}gemm_64")
FORTRAN_NAMES: Final = ("{}gemm_", "{}gemm", "{}gemm_64_")

THREADS: Final = (
    "openblas_set_num_threads", "openblas_set_num_threads64_", "bli_thread_set_num_threads", "MKL_Set_Num_Threads",
    "armpl_set_num_threads",
)  # fmt: skip
"""Functions that set the number of threads of a library."""


class Blas(NamedTuple):
    """A BLAS that is called by addresses.

    Attributes
    ----------
    name : str
        What `tt env` shows.
    single, double : int
        The addresses of its products of float32 and float64.
    fortran : bool
        They take pointers, as Fortran's do.
    whole : bool
        It may have threads of its own, and gets one whole product at a time.
    """

    name: str
    single: int
    double: int
    fortran: bool
    whole: bool


def named(value: str) -> Blas:
    """Return the BLAS that a value of TT_PRODUCTS names: `mkl`, `scipy`, or a library.

    Raises
    ------
    ConfigurationError
        If it cannot be loaded, or has no products of matrices.
    """
    try:
        return {"mkl": _of_mkl, "scipy": _of_scipy}.get(value, lambda: _of_library(value))()
    except (OSError, ImportError) as error:
        raise errors.ConfigurationError(
            f"{VARIABLE}={value}", f"the library cannot be loaded: {error}", hint=f"unset {VARIABLE}"
        ) from error
    except errors.ConfigurationError as error:
        raise errors.ConfigurationError(f"{VARIABLE}={value}", error.problem, hint=error.hint) from error


def _of_mkl() -> Blas:
    loaded = mkl.load()
    single, double, fortran = _products(loaded.library)
    return Blas(f"MKL ({loaded.path})", single, double, fortran, loaded.threaded)


def _of_library(path: str) -> Blas:
    library = ctypes.CDLL(path)
    single, double, fortran = _products(library)
    for name in THREADS:
        if (function := getattr(library, name, None)) is not None:
            govern(function)
            break
    return Blas(path, single, double, fortran, whole=True)


def _products(library: ctypes.CDLL) -> tuple[int, int, bool]:
    """Return the addresses of the products of float32 and float64, and whether they have Fortran's interface."""
    # C's interface first, because it takes row-major operands and numbers by value.
    for pattern, fortran in [(name, False) for name in C_NAMES] + [(name, True) for name in FORTRAN_NAMES]:
        names = [pattern.format(letter) for letter in "sd"]
        if all(hasattr(library, name) for name in names):
            single, double = (
                ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names
            )
            return single, double, fortran
    raise errors.ConfigurationError(
        VARIABLE,
        "the library has neither cblas_sgemm and cblas_dgemm nor sgemm_ and dgemm_",
        hint=f"unset {VARIABLE}",
    )


def _of_scipy() -> Blas:
    """Return the BLAS that SciPy is linked with: conda's chooses MKL, BLIS or OpenBLAS, macOS's Accelerate."""
    from scipy.linalg import cython_blas

    capsules: dict[str, Any] = cython_blas.__pyx_capi__
    single, double = (_pointer(capsules[name]) for name in ("sgemm", "dgemm"))
    return Blas("SciPy's BLAS", single, double, fortran=True, whole=True)


def _pointer(capsule: Any) -> int:
    """Return the address in a capsule of Cython, whose name is the function's signature."""
    api = ctypes.pythonapi
    name_of, pointer_of = api.PyCapsule_GetName, api.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    # Python gives the pointer only to those who know the capsule's name.
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address: int = pointer_of(capsule, name_of(capsule))
    return address
