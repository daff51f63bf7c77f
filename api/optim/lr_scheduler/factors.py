"""Schedules that multiply the learning rate: by functions, in steps, linearly, exponentially, by polynomials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from tt.optim.lr_scheduler.base import LRScheduler
from tt.optim.optimizer import Optimizer

__all__ = [
    "ConstantLR",
    "ExponentialLR",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "StepLR",
]


class _Multiplied(LRScheduler):
    """A schedule whose rate is that of the last epoch times a factor, so that schedules can be chained."""

    def _factor(self) -> float:
        """Return the factor of this epoch in relation to the last."""
        raise NotImplementedError

    def _total_factor(self) -> float:
        """Return the factor of this epoch in relation to the initial rate."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        factor = self._factor()
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self._total_factor()
        return [lr * factor for lr in self.base_lrs]


class _OfFunctions(LRScheduler):
    """A schedule by functions of the epoch, one for each group."""

    _not_saved = ("optimizer", "lr_lambdas")

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        groups = len(optimizer.param_groups)
        if not isinstance(lr_lambda, list | tuple):
            self.lr_lambdas = [lr_lambda] * groups
        elif len(lr_lambda) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
        else:
            self.lr_lambdas = list(lr_lambda)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return everything but optimizer and functions; of callable objects, the attributes are saved."""
        return {**super().state_dict(), "lr_lambdas": self._functions_saved(self.lr_lambdas)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` returned."""
        rest = dict(state_dict)
        saved = rest.pop("lr_lambdas")
        self.__dict__.update(rest)
        for function, attributes in zip(self.lr_lambdas, saved, strict=False):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(_OfFunctions):
    """Learning rates by a function of the epoch, times the initial rate.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    lr_lambda : callable or list of callables
        The factor of an epoch; one for all groups, or one for each.
    last_epoch : int
        The last epoch of a run that is continued.

    Examples
    --------
    >>> import tt
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    >>> scheduler = tt.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        epoch = self.last_epoch
        return [lr * function(epoch) for function, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_OfFunctions):
    """Learning rates by a function of the epoch, times the rate of the last epoch.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    lr_lambda : callable or list of callables
        The factor of an epoch; one for all groups, or one for each.
    last_epoch : int
        The last epoch of a run that is continued.

    Examples
    --------
    >>> import tt
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    >>> scheduler = tt.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        groups = self.optimizer.param_groups
        if self._is_initial:
            return [group["lr"] for group in groups]
        return [
            group["lr"] * function(self.last_epoch)
            for function, group in zip(self.lr_lambdas, groups, strict=True)
        ]


class StepLR(_Multiplied):
    """Learning rates that fall every few epochs.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    step_size : int
        The number of epochs between two changes.
    gamma : float
        The factor of a change.
    last_epoch : int
        The last epoch of a run that is continued.

    Examples
    --------
    >>> import tt
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    >>> scheduler = tt.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [1.0, 1.0, 0.5, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        # Epoch 0 is a multiple of every step size.
        return self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1.0

    def _total_factor(self) -> float:
        return float(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(_Multiplied):
    """Learning rates that fall at certain epochs.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    milestones : iterable of int
        The epochs at which they change; twice for one that is there twice.
    gamma : float
        The factor of a change.
    last_epoch : int
        The last epoch of a run that is continued.

    Examples
    --------
    >>> import tt
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    >>> scheduler = tt.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return float(self.gamma ** self.milestones[self.last_epoch])

    def _total_factor(self) -> float:
        # A milestone that is listed twice counts twice.
        passed = sum(1 for milestone in self.milestones.elements() if milestone <= self.last_epoch)
        return float(self.gamma**passed)


class ConstantLR(_Multiplied):
    """Learning rates with a factor until an epoch.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    factor : float
        The factor.
    total_iters : int
        The epoch at which the factor ends.
    last_epoch : int
        The last epoch of a run that is continued.

    Examples
    --------
    >>> import tt
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    >>> scheduler = tt.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else 1.0

    def _total_factor(self) -> float:
        return 1.0 if self.last_epoch >= self.total_iters else self.factor


class LinearLR(_Multiplied):
    """Learning rates whose factor changes linearly until an epoch.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    start_factor, end_factor : float
        The factors at the beginning and at the end.
    total_iters : int
        The epoch at which the change ends.
    last_epoch : int
        The last epoch of a run that is continued.

    Examples
    --------
    >>> import tt
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    >>> scheduler = tt.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.75, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1.0
        rise = self.end_factor - self.start_factor
        # The quotient of two neighbouring values of the line.
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _total_factor(self) -> float:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done


class ExponentialLR(_Multiplied):
    """Learning rates that fall by the same factor at each epoch.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    gamma : float
        The factor.
    last_epoch : int
        The last epoch of a run that is continued.

    Examples
    --------
    >>> import tt
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    >>> scheduler = tt.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1.0 if self._is_initial else self.gamma

    def _total_factor(self) -> float:
        return float(self.gamma**self.last_epoch)


class PolynomialLR(_Multiplied):
    """Learning rates that fall to zero as a power of the epochs that are left.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    total_iters : int
        The epoch at which they are zero.
    power : float
        The power.
    last_epoch : int
        The last epoch of a run that is continued.

    Examples
    --------
    >>> import tt
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    >>> scheduler = tt.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1.0
        left, before = (
            1.0 - self.last_epoch / self.total_iters,
            1.0 - (self.last_epoch - 1) / self.total_iters,
        )
        return float((left / before) ** self.power)

    def _total_factor(self) -> float:
        return float((1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power)
