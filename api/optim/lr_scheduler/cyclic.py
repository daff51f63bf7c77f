"""Schedules that rise and fall in cycles, with momenta that fall and rise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from tt.optim.lr_scheduler.base import LRScheduler, one_for_each, set_option
from tt.optim.optimizer import Optimizer

__all__ = ["CyclicLR", "OneCycleLR"]


class _WithMomentum(LRScheduler):
    """A schedule that may change momenta, too: of Adam's family, the first of the betas."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(
        self,
        optimizer: Optimizer,
        base: float | list[float],
        most: float | list[float],
        start: Literal["base", "most"],
        last_epoch: int,
    ) -> tuple[list[float], list[float]]:
        """Set the momenta of the groups, unless a run is continued."""
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        bases = one_for_each("base_momentum", base, optimizer)
        largest = one_for_each("max_momentum", most, optimizer)
        if last_epoch == -1:
            for group, low, high in zip(optimizer.param_groups, bases, largest, strict=True):
                self._set_momentum(group, low if start == "base" else high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return bases, largest

    def _set_momentum(self, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            # A new tuple: groups may share the old one.
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    r"""Learning rates that go back and forth between two values at each batch.

    From `Cyclical Learning Rates for Training Neural Networks <https://arxiv.org/abs/1506.01186>`_.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    base_lr, max_lr : float or list of floats
        The smallest and largest rate; for all groups, or for each.
    step_size_up, step_size_down : int
        The steps of rise and fall; as many for both by default.
    mode : {'triangular', 'triangular2', 'exp_range'}
        How the height changes: not, by half with each cycle, by `gamma` with each step.
    gamma : float
        The factor of 'exp_range'.
    scale_fn : callable, optional
        The height by the number of the cycle or step, instead of a mode.
    scale_mode : {'cycle', 'iterations'}
        What `scale_fn` gets.
    cycle_momentum : bool
        Change momenta, too, in the opposite direction.
    base_momentum, max_momentum : float or list of floats
        The smallest and largest momentum.
    last_epoch : int
        The last step of a run that is continued.

    Examples
    --------
    >>> import tt
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0, momentum=0.9)
    >>> scheduler = tt.optim.lr_scheduler.CyclicLR(optimizer, base_lr=1.0, max_lr=3.0, step_size_up=2)
    >>> rates = []
    >>> for _ in range(5):
    ...     optimizer.step()
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [1.0, 2.0, 3.0, 2.0, 1.0]
    """

    _not_saved = ("optimizer", "_scale_fn_custom")

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        base_lrs = one_for_each("base_lr", base_lr, optimizer)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs, strict=True):
                set_option(group, "lr", lr)
        self.max_lrs = one_for_each("max_lr", max_lr, optimizer)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = False
            self.base_momentums, self.max_momentums = self._begin_momentum(
                optimizer, base_momentum, max_momentum, "most", last_epoch
            )
        super().__init__(optimizer, last_epoch)
        # The base has set them to `initial_lr`, which another schedule may have set.
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Return the height of a cycle, or of a step, in relation to the first."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return float(1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x)

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this step, and set its momenta."""
        self._warn_outside_step()
        # Smith (2015): the distance from the peak, in parts of a cycle.
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                self._set_momentum(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but optimizer and functions; of a callable object, the attributes are saved."""
        return {**super().state_dict(), "_scale_fn_custom": self._functions_saved([self._scale_fn_custom])[0]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` returned."""
        rest = dict(state_dict)
        attributes = rest.pop("_scale_fn_custom", None)
        super().load_state_dict(rest)
        if attributes is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(attributes)


class OneCycleLR(_WithMomentum):
    r"""Learning rates that rise once and fall far below where they began, one step at each batch.

    From `Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates
    <https://arxiv.org/abs/1708.07120>`_.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    max_lr : float or list of floats
        The largest rate; for all groups, or for each.
    total_steps : int, optional
        The steps of the cycle; or
    epochs, steps_per_epoch : int, optional
        their factors.
    pct_start : float
        The part of the steps in which the rate rises.
    anneal_strategy : {'cos', 'linear'}
        The form of rise and fall.
    cycle_momentum : bool
        Change momenta, too, in the opposite direction.
    base_momentum, max_momentum : float or list of floats
        The smallest and largest momentum.
    div_factor : float
        The largest rate over the first.
    final_div_factor : float
        The first rate over the last.
    three_phase : bool
        Fall to the first rate as fast as the rise was, and to the last one in a third phase.
    last_epoch : int
        The last step of a run that is continued.

    Examples
    --------
    >>> import tt
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0, momentum=0.9)
    >>> scheduler = tt.optim.lr_scheduler.OneCycleLR(
    ...     optimizer, max_lr=4.0, total_steps=5, pct_start=0.6, anneal_strategy="linear", div_factor=4,
    ...     final_div_factor=1,
    ... )
    >>> rates = []
    >>> for step in range(5):
    ...     optimizer.step()
    ...     rates += scheduler.get_last_lr()
    ...     if step < 4:
    ...         scheduler.step()
    >>> rates
    [1.0, 2.5, 4.0, 2.5, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if total_steps is not None:
            _expect_positive(total_steps=total_steps)
            self.total_steps = total_steps
        elif epochs is not None and steps_per_epoch is not None:
            _expect_positive(epochs=epochs, steps_per_epoch=steps_per_epoch)
            self.total_steps = epochs * steps_per_epoch
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        # Steps count from 0, so a phase ends one earlier than its length.
        rising = float(pct_start * self.total_steps) - 1
        ends = [(rising, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            ends.append(
                (
                    float(2 * pct_start * self.total_steps) - 2,
                    "max_lr",
                    "initial_lr",
                    "base_momentum",
                    "max_momentum",
                )
            )
            ends.append((self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
        else:
            ends.append((self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"))
        fields = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        self._schedule_phases: list[dict[str, Any]] = [dict(zip(fields, end, strict=True)) for end in ends]
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        max_lrs = one_for_each("max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for group, most in zip(optimizer.param_groups, max_lrs, strict=True):
                first = most / div_factor
                group["initial_lr"] = first
                group["max_lr"] = most
                group["min_lr"] = first / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = False
            self._begin_momentum(optimizer, base_momentum, max_momentum, "most", last_epoch)
        super().__init__(optimizer, last_epoch)

    def _anneal(self, start: float, end: float, part: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this step, and set its momenta."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is {self.total_steps}"
            )
        start, phase = 0.0, self._schedule_phases[0]
        # The last phase also takes the one step beyond the end, as in PyTorch.
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        part = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                momenta = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._anneal(*momenta, part))
        return rates


def _expect_positive(**numbers: Any) -> None:
    for name, value in numbers.items():
        if not isinstance(value, int | float | str):
            raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
