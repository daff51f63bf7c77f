"""State dicts of models and optimizers by the names of parameters, as parts or as wholes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tt
import tt.distributed as dist
from tt import Tensor
from tt.distributed.fsdp.sharded_parameter import ShardedParameter, ShardedTensor, whole
from tt.nn import Module
from tt.optim import Optimizer

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]


@dataclass
class StateDictOptions:
    """What state dicts hold.

    Attributes
    ----------
    full_state_dict : bool
        Whether tensors are whole; otherwise each rank has its parts.
    cpu_offload : bool
        Whether tensors are copied to the CPU; with `full_state_dict` only on rank 0.
    ignore_frozen_params : bool
        Whether parameters that require no gradient are left out.
    strict : bool
        Whether a model's names must all be there, and no others.
    broadcast_from_rank0 : bool
        Whether the state that is set is that of rank 0, the others' being ignored; needs `full_state_dict`.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    strict: bool = True
    broadcast_from_rank0: bool = False


def get_model_state_dict(model: Module, *, options: StateDictOptions | None = None) -> dict[str, Any]:
    """Return a model's state; all ranks call it.

    The prefixes of `DistributedDataParallel` are taken off.

    Examples
    --------
    >>> import tt
    >>> from tt.distributed.checkpoint.state_dict import get_model_state_dict
    >>> sorted(get_model_state_dict(tt.nn.Linear(1, 1)))
    ['bias', 'weight']
    """
    options = options or StateDictOptions()
    frozen = {name for name, p in _parameters(model).items() if not p.requires_grad}
    result = {}
    # `keep_vars`, for detached tensors do not say how they are divided.
    for name, value in _plain(model).state_dict(keep_vars=True).items():
        if not (options.ignore_frozen_params and name in frozen):
            result[name] = _exported(value, options)
    return _kept_by_rank_0(result, options)


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Load a model's state, of parts or of wholes; all ranks call it with all that they need.

    Raises
    ------
    RuntimeError
        Names or shapes differ.
    ValueError
        `broadcast_from_rank0` without `full_state_dict`.
    """
    strict = options is None or options.strict
    model_state_dict = _received(model_state_dict, options)
    own = _plain(model).state_dict(keep_vars=True)
    imported = {name: _imported(value, own.get(name)) for name, value in model_state_dict.items()}
    return _plain(model).load_state_dict(imported, strict=strict)


def get_optimizer_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """Return the state of optimizers by the names of the model's parameters; all ranks call it."""
    options = options or StateDictOptions()
    names = {parameter: name for name, parameter in _parameters(model).items()}
    state: dict[str, Any] = {}
    groups = []
    for optimizer in _all(optimizers):
        for group in optimizer.param_groups:
            groups.append({**group, "params": [names[p] for p in group["params"]]})
            for parameter in group["params"]:
                if parameter in optimizer.state:
                    state[names[parameter]] = {
                        # A state of the parameter's shape is divided as the parameter; the count of steps
                        # is not.
                        key: _exported(_like(value, parameter), options)
                        for key, value in optimizer.state[parameter].items()
                    }
    return _kept_by_rank_0({"state": state, "param_groups": groups}, options)


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load the state of optimizers; all ranks call it.

    Raises
    ------
    RuntimeError
        A parameter's name is not there.
    ValueError
        `broadcast_from_rank0` without `full_state_dict`.
    """
    optim_state_dict = _received(optim_state_dict, options)
    names = {parameter: name for name, parameter in _parameters(model).items()}
    group_of = {name: group for group in optim_state_dict["param_groups"] for name in group["params"]}
    for optimizer in _all(optimizers):
        state: dict[int, Any] = {}
        groups = []
        count = 0
        for group in optimizer.param_groups:
            numbers = []
            saved: dict[str, Any] = {}
            for parameter in group["params"]:
                name = names[parameter]
                if name not in group_of:
                    raise RuntimeError(f"set_optimizer_state_dict: the state has no parameter {name!r}")
                saved = group_of[name]
                if name in optim_state_dict["state"]:
                    state[count] = {
                        key: _imported(value, parameter)
                        for key, value in optim_state_dict["state"][name].items()
                    }
                numbers.append(count)
                count += 1
            # Saved options replace those of the new optimizer, as `load_state_dict` does it.
            groups.append({**group, **saved, "params": numbers})
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def get_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the state of a model and that of its optimizers."""
    return (
        get_model_state_dict(model, options=options),
        get_optimizer_state_dict(model, optimizers, options=options),
    )


def set_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Load the state of a model and that of its optimizers."""
    result = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return result


# --- values --------------------------------------------------------------------------------------------------------


def _plain(model: Module) -> Module:
    return model.module if isinstance(model, tt.nn.parallel.DistributedDataParallel) else model


def _parameters(model: Module) -> dict[str, Tensor]:
    return dict(_plain(model).named_parameters())


def _all(optimizers: Optimizer | Iterable[Optimizer]) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _like(value: Any, parameter: Tensor) -> Any:
    """Return an optimizer's value as a part where the parameter is one."""
    if (
        isinstance(parameter, ShardedParameter)
        and isinstance(value, Tensor)
        and value.shape == parameter.shape
    ):
        return ShardedTensor.of(value, parameter.placement)
    return value


def _received(state: dict[str, Any], options: StateDictOptions | None) -> dict[str, Any]:
    """Return the state that is to be set: this rank's, or that of rank 0."""
    if options is None or not options.broadcast_from_rank0:
        return state
    if not options.full_state_dict:
        raise ValueError(
            "StateDictOptions: broadcast_from_rank0 needs full_state_dict, for rank 0 has only its own part of a state"
        )
    carried: list[Any] = [state if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(carried, src=0)
    result: dict[str, Any] = carried[0]
    return result


def _exported(value: Any, options: StateDictOptions) -> Any:
    if not isinstance(value, Tensor):
        return value
    if isinstance(value, ShardedParameter | ShardedTensor):
        part: Tensor = (
            value.full_tensor() if options.full_state_dict else ShardedTensor.of(value, value.placement)
        )
    else:
        part = value.detach()
    if not options.cpu_offload or part.device.type == "cpu":
        return part
    copied = part.detach().cpu()
    return ShardedTensor.of(copied, part.placement) if isinstance(part, ShardedTensor) else copied


def _imported(value: Any, own: Any) -> Any:
    """Return a value as this rank keeps it: wholes are divided as the parameter is."""
    if not isinstance(value, Tensor):
        return value
    if isinstance(value, ShardedTensor | ShardedParameter):
        if isinstance(own, ShardedParameter) and own.placement == value.placement:
            return value.to_local()
        # A division among other ranks, so the parts are put together first; all ranks take part.
        value = whole(value.to_local(), value.placement)
    if isinstance(own, ShardedParameter) and tuple(value.shape) == own.placement.shape:
        return own.placement.part(value).clone()  # so that the whole is not kept
    return value


def _kept_by_rank_0(found: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    if not (options.full_state_dict and options.cpu_offload) or not tt.distributed.is_initialized():
        return found
    return found if tt.distributed.get_rank() == 0 else {}
