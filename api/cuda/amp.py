"""tt.cuda.amp: PyTorch's former names of mixed precision for CUDA."""

from __future__ import annotations

from typing import Any

import tt
from tt import amp
from tt.library import warn_user

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _warn(name: str, newer: str) -> None:
    warn_user(f"tt.cuda.amp.{name} is deprecated: use tt.amp.{newer}", FutureWarning)


class autocast(amp.autocast):  # noqa: N801 - PyTorch's name
    """`tt.autocast("cuda", ...)`.

    Examples
    --------
    >>> import tt
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"), tt.cuda.amp.autocast(enabled=False):
    ...     tt.ones(1).dtype
    tt.float32
    """

    def __init__(
        self, enabled: bool = True, dtype: tt.dtype | None = None, cache_enabled: bool = True
    ) -> None:
        _warn("autocast(...)", "autocast('cuda', ...)")
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """`tt.amp.GradScaler("cuda", ...)`.

    Examples
    --------
    >>> import tt
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     tt.cuda.amp.GradScaler(enabled=False).is_enabled()
    False
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _warn("GradScaler(...)", "GradScaler('cuda', ...)")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: tt.dtype | None = None) -> Any:
    """`tt.amp.custom_fwd` for CUDA."""
    _warn("custom_fwd(...)", "custom_fwd(..., device_type='cuda')")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any = None) -> Any:
    """`tt.amp.custom_bwd` for CUDA."""
    _warn("custom_bwd(...)", "custom_bwd(..., device_type='cuda')")
    return amp.custom_bwd(bwd, device_type="cuda")
