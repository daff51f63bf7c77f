"""ReduceLROnPlateau: learning rates that fall when a metric does not improve."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any, Literal

import tt
from tt.library import warn_user
from tt.optim.lr_scheduler.base import (
    EPOCH_DEPRECATION_WARNING,
    LRScheduler,
    one_for_each,
    options,
    set_option,
)
from tt.optim.optimizer import Optimizer

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """Learning rates that fall when a metric has not improved for some epochs.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    mode : {'min', 'max'}
        Whether lower or higher metrics are better.
    factor : float
        The factor of a change.
    patience : int
        The number of epochs without improvement that are allowed.
    threshold : float
        The least improvement.
    threshold_mode : {'rel', 'abs'}
        Whether `threshold` is relative to the best metric.
    cooldown : int
        The number of epochs after a change that are not counted.
    min_lr : float or list of floats
        The smallest rate; for all groups, or for each.
    eps : float
        The least change of a rate.

    Examples
    --------
    >>> import tt
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    >>> scheduler = tt.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (3.0, 3.0, 3.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        if isinstance(min_lr, list | tuple):
            if len(min_lr) != len(optimizer.param_groups):
                raise ValueError(f"expected {len(optimizer.param_groups)} min_lrs, got {len(min_lr)}")
            self.default_min_lr = None
            self.min_lrs = one_for_each("min_lr", min_lr, optimizer)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = one_for_each("min_lr", min_lr, optimizer)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = options(optimizer, "lr")
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = inf if mode == "min" else -inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def _is_better(self, a: float, best: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        relative = self.threshold_mode == "rel"
        margin = best * (1.0 + sign * self.threshold) if relative else best + sign * self.threshold
        return a > margin if self.mode == "max" else a < margin

    @property
    def in_cooldown(self) -> bool:
        """Whether the rate has changed recently."""
        return self.cooldown_counter > 0

    def step(self, metrics: float | tt.Tensor, epoch: int | None = None) -> None:  # type: ignore[override]  # a metric first
        """Take note of a metric, and reduce the learning rates after too many without improvement.

        Parameters
        ----------
        metrics : float or Tensor
            The metric of this epoch.
        epoch : int, optional
            Deprecated: the number of the epoch.
        """
        current = float(metrics)
        if epoch is not None:
            warn_user(EPOCH_DEPRECATION_WARNING)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        # Metrics need some epochs to follow a new rate, so bad ones do not count.
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = options(self.optimizer, "lr")

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):  # groups were added since
            if self.default_min_lr is None:
                raise RuntimeError(
                    "The number of param groups in the `optimizer` "
                    f"({len(groups)}) differs from when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), "
                    "usually due to a new param group being added to the optimizer; set `min_lrs` of the scheduler"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            # A change too small to matter is not made, nor is the tensor of the rate written.
            if old - new > self.eps:
                set_option(group, "lr", new)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` returned."""
        self.__dict__.update(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)

    def plot(self, steps: int | Iterable[float], ax: Any = None) -> Any:
        """Draw the learning rates that metrics lead to, with matplotlib; nothing changes.

        Parameters
        ----------
        steps : iterable of float
            The metrics of the next epochs.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        """
        if isinstance(steps, int):
            raise TypeError("ReduceLROnPlateau.plot() needs the metrics of the steps, not their number")
        return super().plot(list(steps), ax)
