"""LAPACK by the interface of MKL's: MKL where it is installed, and SciPy's functions for tests everywhere."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from tt.backends.cpu import blas, mkl

__all__ = ["SciPyAsMkl", "installed", "needs_mkl"]


class SciPyAsMkl:
    """What `mkl.load` returns, but with SciPy's LAPACK, whose integers have 32 bits."""

    threaded = False

    def __init__(self) -> None:
        from scipy.linalg import cython_lapack

        self.capsules = cython_lapack.__pyx_capi__
        self.called: list[str] = []

    def function(self, name: str) -> Any:
        self.called.append(name)
        return ctypes.CFUNCTYPE(None)(blas._pointer(self.capsules[name]))


def installed() -> bool:
    """Return whether this environment has MKL."""
    return mkl.find() is not None


needs_mkl = pytest.mark.skipif(not installed(), reason="MKL is not installed (pip install tt-tensor[mkl])")
