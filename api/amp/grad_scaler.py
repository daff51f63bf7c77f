"""GradScaler: what programs ask of a loss scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tt
from tt.amp.autocast_mode import may_enable

if TYPE_CHECKING:
    from tt.optim import Optimizer

__all__ = ["GradScaler"]


class GradScaler:
    """Scales losses so that gradients in float16 do not vanish: it can only be disabled yet, and then does nothing.

    Parameters
    ----------
    device : str
        The devices that are meant.
    init_scale, growth_factor, backoff_factor, growth_interval
        The first scale, and how it would change.
    enabled : bool
        Whether anything is done; on a machine without CUDA, "cuda" is disabled with a warning.

    Raises
    ------
    UnsupportedError
        If it is enabled.

    Examples
    --------
    >>> import tt
    >>> scaler = tt.amp.GradScaler("cpu", enabled=False)
    >>> scaler.scale(tt.ones(1)), scaler.get_scale()
    (tensor([1.]), 1.0)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = may_enable("GradScaler()", device, enabled)
        self._init_scale = init_scale
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval

    def scale(self, outputs: Any) -> Any:
        """Return a loss, or several, as they are."""
        return outputs

    def unscale_(self, optimizer: Optimizer) -> None:
        """Leave the gradients of an optimizer's parameters as they are."""

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Call `optimizer.step`."""
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | tt.Tensor | None = None) -> None:
        """Leave the scale as it is."""

    def get_scale(self) -> float:
        """Return the scale: 1."""
        return 1.0

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale would grow."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale would grow."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale would shrink after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale would shrink after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return after how many steps without overflow the scale would grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps without overflow the scale would grow."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Return whether anything is done."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the state: an empty dict."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state, of which a disabled scaler needs nothing."""
