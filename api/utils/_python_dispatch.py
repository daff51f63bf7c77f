"""tt.utils._python_dispatch: dispatch modes and wrapper tensors, where PyTorch has them."""

from __future__ import annotations

from tt.core.layers.tt_dispatch import (
    TTDispatchMode,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
)

__all__ = [
    "TTDispatchMode",
    "_get_current_dispatch_mode",
    "_get_current_dispatch_mode_stack",
    "is_traceable_wrapper_subclass",
    "return_and_correct_aliasing",
]
