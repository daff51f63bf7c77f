"""tt.optim.swa_utils: averages of models over the steps of training.

Examples
--------
>>> import tt
>>> model = tt.nn.Linear(2, 1)
>>> averaged = tt.optim.swa_utils.AveragedModel(model)
>>> for _ in range(3):
...     averaged.update_parameters(model)
>>> bool((averaged.module.weight == model.weight).all())
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any, Literal

import tt
from tt.nn import Module
from tt.optim.lr_scheduler.base import LRScheduler, one_for_each
from tt.optim.optimizer import Optimizer
from tt.types import Device

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Any, Any, Any], Any]
Averages = Callable[[Sequence[Any], Sequence[Any], Any], None]


def _expect_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _towards(
    averaged: Sequence[Any], current: Sequence[Any], weight: float, kept: float | None = None
) -> None:
    """Move tensors in place towards others, by a part of the way; of integers, the other part may be given."""
    for mine, other in zip(averaged, current, strict=True):
        if mine.is_floating_point() or mine.is_complex():
            mine.lerp_(other.to(mine.dtype), weight)
        elif kept is None:
            mine.copy_(mine + (other - mine) * weight)
        else:
            # The result is truncated, so its last bit counts: this is the sum that PyTorch truncates.
            mine.copy_(mine * kept + other * weight)


def _by_kind(averaged: Sequence[Any], current: Sequence[Any]) -> Iterable[tuple[list[Any], list[Any]]]:
    """Return the two lists in parts of one device and dtype, as operators on lists take them."""
    parts: dict[Any, tuple[list[Any], list[Any]]] = {}
    for mine, theirs in zip(averaged, current, strict=True):
        ours, others = parts.setdefault((mine.device, mine.dtype), ([], []))
        ours.append(mine)
        others.append(theirs)
    return parts.values()


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """Return a function that updates exponential moving averages of a list of tensors, in place.

    Parameters
    ----------
    decay : float
        The part of an average that is kept.
    """
    _expect_decay(decay)

    def ema_update(
        ema_param_list: Sequence[Any], current_param_list: Sequence[Any], _: int | tt.Tensor
    ) -> None:
        with tt.no_grad():
            _towards(ema_param_list, current_param_list, 1 - decay, decay)

    return ema_update


def get_swa_multi_avg_fn() -> Averages:
    """Return a function that updates equally weighted averages of a list of tensors, in place."""

    def swa_update(
        averaged_param_list: Sequence[Any], current_param_list: Sequence[Any], num_averaged: int | tt.Tensor
    ) -> None:
        with tt.no_grad():
            _towards(averaged_param_list, current_param_list, 1 / (int(num_averaged) + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return a function that computes the exponential moving average of a tensor.

    Parameters
    ----------
    decay : float
        The part of the average that is kept.
    """
    _expect_decay(decay)

    def ema_update(ema_param: tt.Tensor, current_param: tt.Tensor, num_averaged: int | tt.Tensor) -> Any:
        with tt.no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Average:
    """Return a function that computes the equally weighted average of a tensor."""

    def swa_update(averaged_param: tt.Tensor, current_param: tt.Tensor, num_averaged: int | tt.Tensor) -> Any:
        with tt.no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    r"""A copy of a model whose parameters are averages of the model's.

    Equally weighted as in `Averaging Weights Leads to Wider Optima and Better Generalization
    <https://arxiv.org/abs/1803.05407>`_, or exponential moving averages.

    Parameters
    ----------
    model : Module
        The model that is copied.
    device : device, optional
        Where the averages are.
    avg_fn : callable, optional
        Returns the new average of a tensor from the average, the tensor, and the number of models averaged before.
    multi_avg_fn : callable, optional
        Updates a list of averages of one device and dtype in place, from the same arguments.
    use_buffers : bool
        Average buffers, too, instead of copying those of the model.

    Examples
    --------
    >>> import tt
    >>> from tt.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
    >>> model = tt.nn.Linear(2, 1)
    >>> averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    >>> averaged.update_parameters(model)
    >>> averaged(tt.ones(3, 2)).shape
    tt.Size([3, 1])
    """

    n_averaged: Any

    def __init__(
        self,
        model: Module,
        device: Device = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module: Any = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tt.tensor(0, dtype=tt.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result of the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of a model into the averages.

        Parameters
        ----------
        model : Module
            Of the same structure.
        """

        def tensors(of: Module) -> list[Any]:
            sources = chain(of.parameters(), of.buffers()) if self.use_buffers else of.parameters()
            return [tensor.detach() for tensor in sources]

        averaged = tensors(self.module)
        current = [theirs.to(mine.device) for mine, theirs in zip(averaged, tensors(model), strict=False)]
        # The copy may have been made long before the first average.
        if int(self.n_averaged) == 0:
            for mine, theirs in zip(averaged, current, strict=True):
                mine.copy_(theirs)
        elif self.avg_fn is not None:
            for mine, theirs in zip(averaged, current, strict=True):
                mine.copy_(self.avg_fn(mine, theirs, self.n_averaged.to(mine.device)))
        else:
            average = self.multi_avg_fn or get_swa_multi_avg_fn()
            for ours, others in _by_kind(averaged, current):
                average(ours, others, self.n_averaged.to(ours[0].device))
        # Buffers such as the statistics of batch normalisation are those of the current model.
        if not self.use_buffers:
            for mine, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.detach().copy_(theirs.detach().to(mine.device))
        self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Device = None) -> None:
    """Compute the statistics of batch normalisation by a pass over data.

    Parameters
    ----------
    loader : iterable
        Batches; of a list or tuple, the first item is the input.
    model : Module
        The model, for instance an `AveragedModel`.
    device : device, optional
        Where the inputs are moved.
    """
    momenta = {}
    for module in model.modules():
        # By name, which saves the import of all layers.
        if any(base.__name__ == "_BatchNorm" for base in type(module).__mro__):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # an average over all batches
    with tt.no_grad():
        for batch in loader:
            inputs = batch[0] if isinstance(batch, list | tuple) else batch
            model(inputs if device is None else inputs.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Learning rates that go to a constant, at which models are averaged.

    Parameters
    ----------
    optimizer : Optimizer
        Whose learning rates change.
    swa_lr : float or list of floats
        The constant; for all groups, or for each.
    anneal_epochs : int
        The epochs until it is reached.
    anneal_strategy : {'cos', 'linear'}
        The way there.
    last_epoch : int
        The last epoch of a run that is continued.

    Examples
    --------
    >>> import tt
    >>> optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    >>> scheduler = tt.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> rates = []
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.75, 0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        for group, lr in zip(optimizer.param_groups, one_for_each("swa_lr", swa_lr, optimizer), strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if anneal_epochs < 0 or int(anneal_epochs) != anneal_epochs:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, step: int) -> float:
        """Return the part of the way at a step."""
        done = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * done)) / 2 if self._anneal_strategy == "cos" else done

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        rates = []
        for group in self.optimizer.param_groups:
            lr, target = group["lr"], group["swa_lr"]
            # The rate at the start, recovered from the present one, so that this schedule can be chained
            # with others.
            start = target if before == 1 else (lr - target * before) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates
