"""tt.cpu.amp: PyTorch's former names of mixed precision for the CPU."""

from __future__ import annotations

from typing import Any

import tt
from tt import amp
from tt.library import warn_user

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):  # noqa: N801 - PyTorch's name
    """`tt.autocast("cpu", ...)`.

    Examples
    --------
    >>> import tt
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"), tt.cpu.amp.autocast(enabled=False):
    ...     tt.ones(1).dtype
    tt.float32
    """

    def __init__(self, enabled: bool = True, dtype: Any = tt.bfloat16, cache_enabled: bool = True) -> None:
        warn_user("tt.cpu.amp.autocast(...) is deprecated: use tt.amp.autocast('cpu', ...)", FutureWarning)
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """`tt.amp.GradScaler("cpu", ...)`.

    Examples
    --------
    >>> import tt
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     tt.cpu.amp.GradScaler(init_scale=8.0).get_scale()
    8.0
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn_user(
            "tt.cpu.amp.GradScaler(...) is deprecated: use tt.amp.GradScaler('cpu', ...)", FutureWarning
        )
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
