"""Kernels of Fourier transforms: SciPy's, which compute in the precision of their input and in threads.

SciPy's functions look for other backends and check their arguments in Python, which takes longer than a small
transform.  So the extension beneath them is called where it is found as expected, and the functions where not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.backends.cpu.threads import get_num_threads
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

_WORTH_THREADS: Final = 2**16
"""Elements from which on threads gain more than starting them costs."""

_SCALES: Final = {"backward": (2, 0), "ortho": (1, 1), "forward": (0, 2)}
"""pocketfft's codes for the divisor of an inverse and a forward transform: 0 none, 1 the root of n, 2 n."""


def workers(self: Array) -> int:
    """Return how many threads a transform uses."""
    if self.size < _WORTH_THREADS:
        return 1
    return get_num_threads()


@cache
def pocketfft() -> Any:
    """Return SciPy's extension, or None where this version of SciPy has another one."""
    # The public functions check and copy their arguments, which takes longer than a short transform.
    try:
        from scipy.fft._pocketfft import pypocketfft  # private, hence the test

        line = np.arange(4, dtype=np.float32)
        there = pypocketfft.r2c(line, (0,), True, 0, None, 1)
        back = pypocketfft.c2r(there, (0,), 4, False, 2, None, 1)
        whole = pypocketfft.c2c(line, (0,), True, 0, None, 1)
        known = there[0] == 6 and np.allclose(back, line) and np.allclose(whole[:3], there)
    except (ImportError, AttributeError, TypeError, ValueError):
        return None
    return pypocketfft if known else None


@cpu.kernel("_fft_c2c", dtypes="linalg")
def fft_c2c(self: Array, dim: Sequence[int], norm: str, forward: bool) -> Array:
    if not self.size or not dim:
        return self.astype(np.result_type(self, np.complex64))
    direct = pocketfft()
    result: Array
    if direct is not None:
        result = direct.c2c(self, tuple(dim), forward, _SCALES[norm][forward], None, workers(self))
    else:
        from scipy import fft  # SciPy takes as long to import as NumPy, and few programs need it

        transform = fft.fftn if forward else fft.ifftn
        result = transform(self, axes=dim, norm=norm, workers=workers(self))
    if forward and self.dtype.kind == "f":
        result += 0  # of real numbers SciPy mirrors half of the result, with -0 where others have 0
    return result


@cpu.kernel("_fft_r2c", dtypes=("float32", "float64"))
def fft_r2c(self: Array, dim: Sequence[int], norm: str) -> Array:
    result: Array
    # pocketfft refuses arrays without elements.
    if not self.size:
        shape = list(self.shape)
        shape[dim[-1]] = shape[dim[-1]] // 2 + 1
        result = np.empty(shape, np.result_type(self, np.complex64))
        return result
    direct = pocketfft()
    if direct is not None:
        result = direct.r2c(self, tuple(dim), True, _SCALES[norm][1], None, workers(self))
        return result
    from scipy import fft

    result = fft.rfftn(self, axes=dim, norm=norm, workers=workers(self))
    return result


@cpu.kernel("_fft_c2r", dtypes="linalg")
def fft_c2r(self: Array, dim: Sequence[int], norm: str, last_dim_size: int) -> Array:
    if not last_dim_size >= 1 or last_dim_size // 2 + 1 != self.shape[dim[-1]]:
        raise ValueError("a number of real values that these frequencies do not have")
    result: Array
    # pocketfft refuses arrays without elements.
    if not self.size:
        shape = list(self.shape)
        shape[dim[-1]] = last_dim_size
        return np.empty(shape, self.real.dtype)
    direct = pocketfft()
    if direct is not None:
        if self.dtype.kind != "c":
            # Only complex input is taken, and NumPy's rule gives the width of the real type.
            self = self.astype(np.result_type(self, np.complex64))
        result = direct.c2r(self, tuple(dim), last_dim_size, False, _SCALES[norm][0], None, workers(self))
        return result
    from scipy import fft

    sizes = (*(self.shape[d] for d in dim[:-1]), last_dim_size)
    result = fft.irfftn(self, sizes, axes=dim, norm=norm, workers=workers(self))
    return result
