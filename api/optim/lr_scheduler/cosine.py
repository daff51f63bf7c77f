"""Schedules along a cosine."""

from __future__ import annotations

import math
from typing import Any

from tt.optim.lr_scheduler.base import LRScheduler
from tt.optim.optimizer import Optimizer

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts"]


class CosineAnnealingLR(LRScheduler):
    r"""Learning rates that fall, and rise again, along a cosine.

    From `SGDR: Stochastic Gradient Descent with Warm Restarts <https://arxiv.org/abs/1608.03983>`_, without restarts.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    T_max : int
        The epoch of the smallest rate.
    eta_min : float
        The smallest rate.
    last_epoch : int
        The last epoch of a run that is continued.

    Examples
    --------
    >>> import tt
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    >>> scheduler = tt.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_max: int,  # noqa: N803  # PyTorch's name
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        rates = [group["lr"] for group in self.optimizer.param_groups]
        if self._is_initial:
            return rates
        least = self.eta_min
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # From the smallest rate no factor leads up again.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (base - least) * rise for base, lr in zip(self.base_lrs, rates, strict=True)]
        now, before = (
            1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1)
        )
        # Relative to the present rate, so that schedules can be chained.
        return [now / before * (lr - least) + least for lr in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        part = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    r"""Learning rates that fall along a cosine, and begin again, each time after more epochs.

    From `SGDR: Stochastic Gradient Descent with Warm Restarts <https://arxiv.org/abs/1608.03983>`_.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    T_0 : int
        The epochs until the first restart.
    T_mult : int
        The factor of the epochs after each restart.
    eta_min : float
        The smallest rate.
    last_epoch : int
        The last epoch of a run that is continued.

    Examples
    --------
    >>> import tt
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    >>> scheduler = tt.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,  # noqa: N803  # PyTorch's names
        T_mult: int = 1,  # noqa: N803
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        part = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the learning rates of the next epoch, or of a point within an epoch.

        Parameters
        ----------
        epoch : float, optional
            The epoch, for instance ``epoch + batch / batches``.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self.T_i, self.T_cur = self.T_0, epoch
            if epoch >= self.T_0 and self.T_mult == 1:
                self.T_cur = epoch % self.T_0
            elif epoch >= self.T_0:
                # The lengths of the cycles are a geometric series, whose sum is solved for the number of
                # cycles.
                restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
                self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
                self.T_i = self.T_0 * self.T_mult**restarts
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            values = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set_rates(values)
