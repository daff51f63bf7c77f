"""Intel's MKL where it is installed, for singular values, eigenvalues and, if asked, products.

`pip install tt-tensor[mkl]` and conda put its libraries into the environment's folder of libraries, where they are
looked for when an operator that MKL serves is first called.

Note [One thread]
-----------------
MKL has layers of threads (those of Intel's, GNU's and TBB's runtime), of which a process uses one.  tt asks for the
layer without threads: a second runtime would keep threads that wait beside those of native kernels, does not survive a
fork in each case, and one that is not installed ends the process.  Results of MKL then depend on no number of threads,
since each matrix is copied to memory that begins with a line of the cache.
Where something else in the process has begun to use MKL, or MKL_THREADING_LAYER is set, the layer stays, and
`tt.set_num_threads` sets the number of its threads.
"""

from __future__ import annotations

import ctypes
import os
import re
import site
import sys
from functools import cache
from typing import Any, Final, NamedTuple

from tt.backends.cpu.threads import govern
from tt.core.library import errors

__all__ = ["VARIABLE", "Mkl", "find", "load", "serving", "unavailable"]

VARIABLE: Final = "TT_LAPACK"
CHOICES: Final = ("mkl", "numpy")

WINDOWS: Final = sys.platform == "win32"
FILES: Final = re.compile(r"(?:lib)?mkl_rt(?:\.(?:so|dll|dylib)|\.(\d+))+")
"""libmkl_rt.so.3, libmkl_rt.3.dylib, mkl_rt.3.dll: the library that loads the others for this processor."""

SEQUENTIAL: Final = 1
"""The number of the layer without threads."""


class Mkl(NamedTuple):
    """The library, its path, and whether its calls run in several threads of its own."""

    library: ctypes.CDLL
    path: str
    threaded: bool

    def function(self, name: str) -> Any:
        """Return a function of LAPACK, by its name in Fortran: with integers of 64 bits where it has them."""
        # Pointers to integers of 64 bits serve both interfaces: their lower half comes first on x86.
        function = getattr(self.library, f"{name.upper()}_64", None) or getattr(self.library, name.upper())
        function.restype = None
        return function


def find() -> str | None:
    """Return the path of the library that is installed in this environment, or for this user."""
    inside = ("Library", "bin") if WINDOWS else ("lib",)
    for root in dict.fromkeys((sys.prefix, site.getuserbase())):
        folder = os.path.join(root, *inside)
        try:
            names = [name for name in os.listdir(folder) if FILES.fullmatch(name)]
        except OSError:
            continue
        if names:
            return os.path.join(
                folder, max(names, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])
            )
    return None


@cache
def load() -> Mkl:
    """Load the library.

    Raises
    ------
    ConfigurationError
        If it is not installed, or cannot be loaded.
    """
    path = find()
    if path is None:
        raise errors.ConfigurationError("MKL", "it is not installed", hint="pip install tt-tensor[mkl]")
    try:
        library = ctypes.CDLL(path)
        layer = -1
        # With the variable set, the program has chosen the layer.
        if not os.environ.get("MKL_THREADING_LAYER"):
            layer = library.MKL_Set_Threading_Layer(SEQUENTIAL)
        if layer != SEQUENTIAL:
            govern(library.MKL_Set_Num_Threads)
    except (OSError, AttributeError) as error:
        raise errors.ConfigurationError("MKL", str(error), hint="install the package mkl again") from error
    return Mkl(library, path, layer != SEQUENTIAL)


# --- its functions ---------------------------------------------------------------------------------------------


def unavailable() -> str | None:
    """Return why MKL does not compute singular values and eigenvalues here, or None.

    Raises
    ------
    ConfigurationError
        If TT_LAPACK is an unknown word, or asks for MKL and it cannot be loaded.

    Examples
    --------
    >>> from tt.backends.cpu.mkl import unavailable
    >>> unavailable() is None or "not installed" in unavailable() or "=" in unavailable()
    True
    """
    asked = os.environ.get(VARIABLE, "")
    if asked and asked not in CHOICES:
        raise errors.ConfigurationError(
            f"{VARIABLE}={asked}", f"unknown choice; known: {', '.join(CHOICES)}", hint=f"unset {VARIABLE}"
        )
    if asked == "numpy":
        return f"{VARIABLE}=numpy"
    try:
        load()
    except errors.ConfigurationError as error:
        if not asked:
            return error.problem
        raise errors.ConfigurationError(f"{VARIABLE}={asked}", error.problem, hint=error.hint) from error
    return None


def serving() -> str:
    """Return what computes singular values and eigenvalues, for `tt env`."""
    missing = unavailable()
    return f"MKL ({load().path})" if missing is None else f"NumPy's LAPACK (MKL: {missing})"
