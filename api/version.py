"""tt.version: the versions of tt and of the libraries that it was built for."""

from __future__ import annotations

from typing import Final

from tt import __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

debug: Final = False
cuda: Final = None
"""None: no version of CUDA is built in; CuPy brings it."""
git_version: Final = "unknown"
"""The commit of the build is not kept; `tt env` shows where tt is installed."""
hip: Final = None
rocm: Final = None
xpu: Final = None
