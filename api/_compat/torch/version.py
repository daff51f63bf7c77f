"""torch.version: the version of PyTorch whose names tt gives, and what tt was built for."""

from __future__ import annotations

from tt._compat.torch.torch_version import __version__
from tt.version import cuda, debug, git_version, hip, rocm, xpu

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]
