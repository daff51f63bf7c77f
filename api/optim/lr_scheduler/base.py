"""LRScheduler: what all schedules of learning rates share."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Final

import tt
from tt.library import warn_user
from tt.optim.optimizer import Optimizer

__all__ = ["LRScheduler"]

EPOCH_DEPRECATION_WARNING: Final = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
    "Please use `scheduler.step()` to step the scheduler."
)


def own(value: Any) -> Any:
    """Return a number, or a copy of a tensor, which its owner and optimizers change in place."""
    return value.clone() if tt.is_tensor(value) else value


def set_option(group: dict[str, Any], name: str, value: float | tt.Tensor) -> None:
    """Set an option of a group; a tensor is filled, and a new one copied."""
    if tt.is_tensor(group[name]):
        group[name].fill_(float(value))
    else:
        group[name] = own(value)


def options(optimizer: Optimizer, name: str) -> list[Any]:
    """Return an option of all groups; of tensors, copies."""
    return [own(group[name]) for group in optimizer.param_groups]


def one_for_each(name: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """Return an option of a scheduler as one value for each group; of tensors, copies."""
    if not isinstance(value, list | tuple):
        return [own(value) for _ in optimizer.param_groups]
    if len(value) != len(optimizer.param_groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {len(optimizer.param_groups)}."
        )
    return [own(one) for one in value]


class LRScheduler:
    """The base of schedules.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    last_epoch : int
        The number of the last epoch of a run that is continued; -1 begins a new one.

    Examples
    --------
    >>> import tt
    >>> class Halving(tt.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr * 0.5 ** self.last_epoch for lr in self.base_lrs]
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _not_saved: tuple[str, ...] = ("optimizer",)

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        if last_epoch == -1:
            for group in optimizer.param_groups:
                # Another schedule of the same optimizer may have set it already.
                group.setdefault("initial_lr", own(group["lr"]))
        else:
            for number, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with "
                        "last_epoch >= 0; load the optimizer's state dict first"
                    )
        self.base_lrs = options(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        # Remembered, to tell later whether a program has replaced the method `step`.
        optimizer.__dict__["_step_at_scheduler"] = optimizer.__dict__.get("step")
        self._step_count = 0
        self._is_initial = False
        self._get_lr_called_within_step = False
        self._last_lr: list[Any] = options(optimizer, "lr")
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the learning rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    # --- state ---------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name not in self._not_saved}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` returned; load the optimizer's first."""
        self.__dict__.update(state_dict)

    def _functions_saved(self, functions: Sequence[Any]) -> list[dict[str, Any] | None]:
        """Return the attributes of callable objects; functions and lambdas are not saved."""
        return [
            # As PyTorch: functions and lambdas cannot be pickled, attributes of callable objects can.
            None if not hasattr(f, "__dict__") or isinstance(f, _FUNCTION) else f.__dict__.copy()
            for f in functions
        ]

    # --- rates ---------------------------------------------------------------------------------------------------

    def get_last_lr(self) -> list[Any]:
        """Return the learning rates of the groups, as the last step set them."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch, computed from those of the last; for `step`."""
        raise NotImplementedError(
            f"{type(self).__name__} has no get_lr(); a subclass of LRScheduler must define it"
        )

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warn_user("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.")

    def step(self, epoch: int | None = None) -> None:
        """Set the learning rates of the next epoch.

        Parameters
        ----------
        epoch : int, optional
            Deprecated: the epoch to set instead.
        """
        if self._step_count == 1:
            self._warn_about_order()
        self._step_count += 1
        if epoch is not None:
            warn_user(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _warn_about_order(self) -> None:
        """Warn if the optimizer has not taken a step."""
        # A method that a program has put in its place lies in the instance.
        replaced = self.optimizer.__dict__.get("step")
        if replaced is not self.optimizer.__dict__.get("_step_at_scheduler"):
            warn_user(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`.",
            )
        elif replaced is None and not getattr(self.optimizer, "_opt_called", False):
            warn_user(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order: "
                "`optimizer.step()` before `lr_scheduler.step()`, or the first value of the schedule is skipped.",
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to a given one, and set its learning rates."""
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                closed: Callable[[], list[Any]] = getattr(self, "_get_closed_form_lr", self.get_lr)
                values = closed()
        finally:
            self._get_lr_called_within_step = False
        self._set_rates(values)

    def _set_rates(self, values: Sequence[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, values, strict=False):
            # A tensor is filled in place, because a captured step reads its memory.
            set_option(group, "lr", lr)
        self._last_lr = options(self.optimizer, "lr")

    # --- a picture -----------------------------------------------------------------------------------------------

    def _detached(self, optimizer: Optimizer) -> LRScheduler:
        """Return a copy that changes another optimizer."""
        new = copy.copy(self)
        new.optimizer = optimizer
        return new

    def _preview(self, steps: int | list[float]) -> list[list[float]]:
        """Return the learning rates of the groups now and after each of some steps, and change nothing."""
        # Shallow: parameters and state are not touched by a schedule.
        optimizer = copy.copy(self.optimizer)
        optimizer.param_groups = [
            {name: own(value) for name, value in group.items()} for group in self.optimizer.param_groups
        ]
        optimizer.__dict__["_opt_called"] = True
        optimizer.__dict__["_step_at_scheduler"] = optimizer.__dict__.get("step")
        future = self._detached(optimizer)
        seen = [[float(group["lr"]) for group in optimizer.param_groups]]
        for metric in steps if isinstance(steps, list) else [None] * steps:
            future.step(*(() if metric is None else (metric,)))
            seen.append([float(group["lr"]) for group in optimizer.param_groups])
        return [list(rates) for rates in zip(*seen, strict=True)]

    def plot(self, steps: int | list[float], ax: Any = None) -> Any:
        """Draw the learning rates of the next steps, with matplotlib; nothing changes.

        Parameters
        ----------
        steps : int
            How many steps to draw.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            With one line for each group of parameters.

        Raises
        ------
        ModuleNotFoundError
            If matplotlib is not installed.
        """
        if ax is None:
            try:
                from matplotlib import pyplot
            except ModuleNotFoundError as error:
                raise ModuleNotFoundError(
                    f"{type(self).__name__}.plot() needs matplotlib, which is not installed\n"
                    "  try: pip install matplotlib",
                    name="matplotlib",
                ) from error
            _, ax = pyplot.subplots()
        first = max(self.last_epoch, 0)
        lines = self._preview(steps)
        for number, rates in enumerate(lines):
            ax.plot(range(first, first + len(rates)), rates, label=f"group {number}")
        ax.set_xlabel("step")
        ax.set_ylabel("learning rate")
        ax.set_title(type(self).__name__)
        if len(lines) > 1:
            ax.legend()
        return ax


_FUNCTION: Final = type(options)
