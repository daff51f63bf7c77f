"""How this installation was built and what it can use: facts that programs read before they choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import tt
from tt._compat.checks import require_tensor
from tt.backends import cuda, cudnn, mkl, mkldnn, mps, openmp
from tt.errors import DeviceError
from tt.library import warn_user

if TYPE_CHECKING:
    has_cuda: bool
    has_cudnn: bool
    has_mkldnn: bool
    has_mps: bool

__all__ = [
    "AcceleratorError",
    "compiled_with_cxx11_abi",
    "cudnn_is_acceptable",
    "has_lapack",
    "has_mkl",
    "has_openmp",
    "has_spectral",
    "init_num_threads",
    "is_vulkan_available",
]

AcceleratorError: Final = DeviceError
"""The error of a device that cannot do its work; `tt.errors.DeviceError`."""

has_lapack: Final = True
"""Decompositions of matrices are always there."""

has_spectral: Final = True
"""Fourier transforms are always there."""


has_mkl: Final = mkl.is_available()
"""Whether MKL is installed, which then computes singular values and eigenvalues."""

has_openmp: Final = openmp.is_available()
"""Whether kernels use OpenMP."""


_FUNCTIONS: Final = {
    "has_cuda": ("tt.backends.cuda.is_built()", cuda.is_built),
    "has_cudnn": ("tt.backends.cudnn.is_available()", cudnn.is_available),
    "has_mkldnn": ("tt.backends.mkldnn.is_available()", mkldnn.is_available),
    "has_mps": ("tt.backends.mps.is_built()", mps.is_built),
}
"""The function that took the place of each deprecated fact."""


def __getattr__(name: str) -> bool:
    """Return a deprecated fact, with a warning."""
    # Computed only when it is read, because reading has to warn.
    if name not in _FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    instead, function = _FUNCTIONS[name]
    warn_user(f"'{name}' is deprecated, please use '{instead}'")
    return bool(function())


def compiled_with_cxx11_abi() -> bool:
    """Return whether C++ extensions need the C++11 ABI of libstdc++: False, as none of tt's libraries is C++.

    Examples
    --------
    >>> import tt
    >>> tt.compiled_with_cxx11_abi()
    False
    """
    return False


def is_vulkan_available() -> bool:
    """Return whether a backend computes with Vulkan: False, unless an installed plugin serves the device "vulkan".

    Examples
    --------
    >>> import tt
    >>> tt.is_vulkan_available()
    False
    """
    try:
        tt.empty(0, device="vulkan")
    except (RuntimeError, ValueError):
        return False
    return True


def cudnn_is_acceptable(self: tt.Tensor) -> bool:
    """Return whether cuDNN could take a tensor, by its device and dtype; `tt.backends.cudnn.is_acceptable`.

    Raises
    ------
    ArgumentError
        If it is not a tensor.

    Examples
    --------
    >>> import tt
    >>> tt.cudnn_is_acceptable(tt.ones(2))
    False
    """
    require_tensor("cudnn_is_acceptable", self, "self")
    return bool(cudnn.is_acceptable(self))


def init_num_threads() -> None:
    """Give a thread that a program made the number of threads of kernels; all threads share it, so nothing changes.

    Examples
    --------
    >>> import tt
    >>> tt.init_num_threads()
    """
    tt.get_num_threads()
