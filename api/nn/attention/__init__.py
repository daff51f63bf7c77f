"""tt.nn.attention: which implementations attention may use, and masks for it."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import tt
from tt.nn.attention import bias
from tt.nn.attention.implementations import (
    activate_flash_attention_impl,
    current_flash_attention_impl,
    list_flash_attention_impls,
    register_flash_attention_impl,
    restore_flash_attention_impl,
)

__all__ = [
    "SDPBackend",
    "activate_flash_attention_impl",
    "bias",
    "current_flash_attention_impl",
    "list_flash_attention_impls",
    "register_flash_attention_impl",
    "restore_flash_attention_impl",
    "sdpa_kernel",
]


class SDPBackend(enum.IntEnum):
    """PyTorch's implementations of `scaled_dot_product_attention`.

    Examples
    --------
    >>> import tt
    >>> tt.nn.attention.SDPBackend.MATH
    <SDPBackend.MATH: 0>
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


SDPBackend.__module__ = __name__


@contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict[str, Any]]:
    """Enable only some implementations of attention, for the length of a `with` statement or of a function.

    The switches can be read in `tt.backends.cuda`.  The CPU has flash attention and math; on CUDA, flash and efficient
    attention are one kernel, and cuDNN's comes first where it is installed.  Flash attention has neither
    dropout nor masks of numbers.

    Parameters
    ----------
    backends : SDPBackend or list of SDPBackend
        Those that are enabled.
    set_priority : bool
        Whether their order is their priority: what comes after one that takes every call is not used.

    Raises
    ------
    AssertedError
        If `backends` is neither.
    UnsupportedError
        By `scaled_dot_product_attention`, a RuntimeError: if none of those that are enabled serves the call.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.attention import SDPBackend, sdpa_kernel
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     tt.backends.cuda.flash_sdp_enabled(), tt.backends.cuda.math_sdp_enabled()
    (False, True)
    """
    chosen = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(chosen, list):
        raise tt.errors.AssertedError(
            "sdpa_kernel(): backends must be an instance of SDPBackend or a list of them, got "
            f"{type(backends).__name__}"
        )
    if set_priority:
        chosen = _up_to_the_last(chosen)
    flags = tt.backends.cuda
    before = {name: getattr(flags, f"{name}_sdp_enabled")() for name in _FLAGS}
    try:
        for name, backend in _FLAGS.items():
            getattr(flags, f"enable_{name}_sdp")(backend in chosen)
        yield {}
    finally:
        for name, enabled in before.items():
            getattr(flags, f"enable_{name}_sdp")(enabled)


_FLAGS: Final = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "math": SDPBackend.MATH,
    "mem_efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}


def _up_to_the_last(chosen: list[SDPBackend]) -> list[SDPBackend]:
    """Return the implementations that can be reached in their order: math takes all calls, and flash all of cuDNN's."""
    reached: list[SDPBackend] = []
    for backend in chosen:
        own = SDPBackend.FLASH_ATTENTION in reached or SDPBackend.EFFICIENT_ATTENTION in reached
        if not (own and backend == SDPBackend.CUDNN_ATTENTION):
            reached.append(backend)
        if backend == SDPBackend.MATH:
            break
    return reached
