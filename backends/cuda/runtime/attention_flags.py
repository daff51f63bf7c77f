"""The implementations that attention may use, by PyTorch's names: public names of `tt.backends.cuda`.

PyTorch has four implementations and chooses among those that are enabled; `scaled_dot_product_attention` of tt does so,
too.  On the CPU there are flash attention and products; on CUDA, flash and memory-efficient attention are one kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tt.backends.cuda.runtime.settings import Settings
from tt.core.library import ATTENTION, warn_user

__all__ = [
    "allow_fp16_bf16_reduction_math_sdp", "cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp",
    "enable_math_sdp", "enable_mem_efficient_sdp", "flash_sdp_enabled", "fp16_bf16_reduction_math_sdp_allowed",
    "is_flash_attention_available", "math_sdp_enabled", "mem_efficient_sdp_enabled", "sdp_kernel",
]  # fmt: skip


class AttentionFlags(Settings):
    """The switches; those that operators read are core's."""

    names = ("flash", "mem_efficient", "math", "cudnn", "half_sums")
    flash: bool
    mem_efficient: bool
    math: bool
    cudnn: bool
    half_sums: bool

    def __init__(self) -> None:
        self.flash = self.mem_efficient = self.math = self.cudnn = True
        self.half_sums = False

    def __setattr__(self, name: str, value: Any) -> None:
        # The operators in core read their own flags, as they must not import a backend.
        super().__setattr__(name, value)
        if name != "half_sums":
            setattr(ATTENTION, name, value)


FLAGS = AttentionFlags()


def flash_sdp_enabled() -> bool:
    """Return whether flash attention is enabled.

    Examples
    --------
    >>> import tt
    >>> tt.backends.cuda.flash_sdp_enabled()
    True
    """
    return FLAGS.flash


def enable_flash_sdp(enabled: bool) -> None:
    """Enable or disable flash attention.

    Examples
    --------
    >>> import tt
    >>> tt.backends.cuda.enable_flash_sdp(True)
    """
    FLAGS.flash = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Return whether memory-efficient attention is enabled.

    Examples
    --------
    >>> import tt
    >>> tt.backends.cuda.mem_efficient_sdp_enabled()
    True
    """
    return FLAGS.mem_efficient


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Enable or disable memory-efficient attention.

    Examples
    --------
    >>> import tt
    >>> tt.backends.cuda.enable_mem_efficient_sdp(True)
    """
    FLAGS.mem_efficient = bool(enabled)


def math_sdp_enabled() -> bool:
    """Return whether attention by products and a softmax is enabled.

    Examples
    --------
    >>> import tt
    >>> tt.backends.cuda.math_sdp_enabled()
    True
    """
    return FLAGS.math


def enable_math_sdp(enabled: bool) -> None:
    """Enable or disable attention by products and a softmax.

    Examples
    --------
    >>> import tt
    >>> tt.backends.cuda.enable_math_sdp(True)
    """
    FLAGS.math = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Return whether cuDNN's attention is enabled.

    Examples
    --------
    >>> import tt
    >>> tt.backends.cuda.cudnn_sdp_enabled()
    True
    """
    return FLAGS.cudnn


def enable_cudnn_sdp(enabled: bool) -> None:
    """Enable or disable cuDNN's attention.

    Examples
    --------
    >>> import tt
    >>> tt.backends.cuda.enable_cudnn_sdp(True)
    """
    FLAGS.cudnn = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Return whether attention by products may add in half precision; tt adds in float32.

    Examples
    --------
    >>> import tt
    >>> tt.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
    False
    """
    return FLAGS.half_sums


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Allow attention by products to add in half precision; tt adds in float32.

    Examples
    --------
    >>> import tt
    >>> tt.backends.cuda.allow_fp16_bf16_reduction_math_sdp(False)
    """
    FLAGS.half_sums = bool(enabled)


def is_flash_attention_available() -> bool:
    """Return whether attention without the matrix of all scores can handle CUDA tensors: if a device exists.

    Examples
    --------
    >>> import tt
    >>> tt.backends.cuda.is_flash_attention_available() == tt.cuda.is_available()
    True
    """
    import tt

    return bool(tt.cuda.is_available())


def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> AbstractContextManager[None]:
    """Enable some implementations of attention for the length of a `with` statement.

    Deprecated: `tt.nn.attention.sdpa_kernel` does the same.

    Examples
    --------
    >>> import tt
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"), tt.backends.cuda.sdp_kernel(enable_flash=False):
    ...     tt.backends.cuda.flash_sdp_enabled()
    False
    """
    warn_user("sdp_kernel() is deprecated: use tt.nn.attention.sdpa_kernel", FutureWarning)
    return _enabled(
        flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn
    )


@contextmanager
def _enabled(**flags: bool) -> Iterator[None]:
    with FLAGS.flags(**flags):
        yield
