"""NVIDIA GPUs through CuPy.  Nothing here imports CuPy before a CUDA device is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tt.backends.cuda.runtime.attention_flags import (
        allow_fp16_bf16_reduction_math_sdp,
        cudnn_sdp_enabled,
        enable_cudnn_sdp,
        enable_flash_sdp,
        enable_math_sdp,
        enable_mem_efficient_sdp,
        flash_sdp_enabled,
        fp16_bf16_reduction_math_sdp_allowed,
        is_flash_attention_available,
        math_sdp_enabled,
        mem_efficient_sdp_enabled,
        sdp_kernel,
    )
    from tt.backends.cuda.runtime.settings import cudnn, matmul

__all__ = [
    "allow_fp16_bf16_reduction_math_sdp",
    "cudnn",
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "sdp_kernel",
]


def is_built() -> bool:
    """Return whether tt could use a CUDA device: whether CuPy is installed.

    Examples
    --------
    >>> import tt
    >>> tt.backends.cuda.is_built() >= tt.cuda.is_available()
    True
    """
    from importlib.util import find_spec

    return find_spec("cupy") is not None


def __getattr__(name: str) -> Any:
    # Reading the manifest of the plugin imports this package, in processes that never use a GPU.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = "settings" if name in ("cudnn", "matmul") else "attention_flags"
    found = globals()[name] = getattr(import_module(f"tt.backends.cuda.runtime.{home}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
