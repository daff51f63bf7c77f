"""Schedules of several schedules: one after another, and all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from tt.optim.lr_scheduler.base import LRScheduler, options, set_option
from tt.optim.lr_scheduler.plateau import ReduceLROnPlateau
from tt.optim.optimizer import Optimizer

__all__ = ["ChainedScheduler", "SequentialLR"]


class _Composed(LRScheduler):
    """A schedule of several of one optimizer."""

    _schedulers: list[LRScheduler]

    def _expect_schedulers(self, schedulers: Sequence[Any], optimizer: Optimizer | None) -> None:
        """Raise unless all schedules are of one optimizer, and need no metrics."""
        name = type(self).__name__
        for index, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {index} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {index} in the given schedulers sequence."
                )
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {index} has {scheduler.optimizer}, which is different from "
                    f"{type(optimizer).__name__}."
                )

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer, with the state dicts of the schedules."""
        state = {
            name: value for name, value in self.__dict__.items() if name not in ("optimizer", "_schedulers")
        }
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` returned."""
        rest = dict(state_dict)
        saved = rest.pop("_schedulers")
        self.__dict__.update(rest)
        for scheduler, state in zip(self._schedulers, saved, strict=True):
            scheduler.load_state_dict(state)

    def _detached(self, optimizer: Optimizer) -> LRScheduler:
        new = super()._detached(optimizer)
        new.__dict__["_schedulers"] = [scheduler._detached(optimizer) for scheduler in self._schedulers]
        return new


class SequentialLR(_Composed):
    """Schedules one after another, each from a milestone on.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    schedulers : list of LRScheduler
        The schedules, all of this optimizer.
    milestones : list of int
        The epochs at which the second and later schedules begin.
    last_epoch : int
        The last epoch of a run that is continued.

    Examples
    --------
    >>> import tt
    >>> from tt.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    >>> warmup = ConstantLR(optimizer, factor=0.25, total_iters=9)
    >>> scheduler = SequentialLR(optimizer, [warmup, ExponentialLR(optimizer, gamma=0.5)], milestones=[2])
    >>> rates = []
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [0.25, 0.25, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        self._expect_schedulers(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = list(schedulers)
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each schedule has set the rates of its first epoch.  Go back, and let only the one of epoch 0 do so, which is
        # not the first where milestones are 0.
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        for scheduler in self._schedulers:
            self.recursive_undo(scheduler)
        first = self._schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: LRScheduler | None = None) -> None:
        """Take back the first epoch of a schedule, and of those in it.

        Parameters
        ----------
        sched : LRScheduler, optional
            The schedule; by default this one.
        """
        # The schedules within have set their first epoch, too.
        of = self if sched is None else sched
        if hasattr(of, "_schedulers"):
            for scheduler in of._schedulers:
                self.recursive_undo(scheduler)
        elif hasattr(of, "last_epoch"):
            of.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]  # without the deprecated epoch
        """Set the learning rates of the next epoch."""
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        if number > 0 and self._milestones[number - 1] == self.last_epoch:
            # Its first epoch was taken back in the constructor.
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Composed):
    """Schedules that all act at each epoch.

    Parameters
    ----------
    schedulers : sequence of LRScheduler
        The schedules, all of one optimizer, in the order in which they act.
    optimizer : Optimizer, optional
        Their optimizer.

    Examples
    --------
    >>> import tt
    >>> from tt.optim.lr_scheduler import ChainedScheduler, ConstantLR, ExponentialLR
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    >>> both = [ConstantLR(optimizer, factor=0.5, total_iters=2), ExponentialLR(optimizer, gamma=0.5)]
    >>> scheduler = ChainedScheduler(both, optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or getattr(schedulers[0], "optimizer", None)
        self._expect_schedulers(schedulers, optimizer)
        assert optimizer is not None  # _expect_schedulers has looked
        self._schedulers = list(schedulers)
        self.optimizer = optimizer
        self._last_lr = options(optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]  # without the deprecated epoch
        """Set the learning rates of the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = options(self.optimizer, "lr")

    def plot(self, steps: int | list[float], ax: Any = None) -> Any:
        """Draw the learning rates of the next steps; see `LRScheduler.plot`."""
        self.__dict__.setdefault("last_epoch", getattr(self._schedulers[0], "last_epoch", 0))
        try:
            return super().plot(steps, ax)
        finally:
            del self.__dict__["last_epoch"]
