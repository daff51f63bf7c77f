"""Tensors in the memory of the host, computed by NumPy."""

from typing import Final

__all__ = ["get_cpu_capability"]

_NAMES: Final = {"avx2": "AVX2", "avx512": "AVX512"}


def get_cpu_capability() -> str:
    """Return PyTorch's name of the instructions that the native kernels use: "AVX512", "AVX2", or "DEFAULT".

    Examples
    --------
    >>> import tt
    >>> tt.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
    True
    """
    from tt.backends.cpu.native.loading import status

    return _NAMES.get(status().level, "DEFAULT")
