"""Modules as functions of their parameters: public names of `tt.func`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tt
from tt.nn.utils import stateless

__all__ = ["functional_call", "stack_module_state"]


def functional_call(
    module: tt.nn.Module,
    parameter_and_buffer_dicts: dict[str, tt.Tensor] | Sequence[dict[str, tt.Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers than its own, which it has again afterwards.

    Parameters
    ----------
    module : Module
        The module.
    parameter_and_buffer_dicts : dict of str to Tensor, or several
        Tensors by name; the others stay.
    args, kwargs, tie_weights, strict
        As of `tt.nn.utils.stateless.functional_call`, which also lists the refusals.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.Linear(1, 1)
    >>> weights = {"weight": tt.full((1, 1), 2.0), "bias": tt.ones(1)}
    >>> tt.func.functional_call(layer, weights, tt.tensor([[3.0]]))
    tensor([[7.]])
    """
    return stateless.call_replaced(
        module, parameter_and_buffer_dicts, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def stack_module_state(
    models: Sequence[tt.nn.Module] | tt.nn.ModuleList,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return parameters and buffers of several modules, stacked; for `vmap` of a call with `functional_call`.

    Parameters
    ----------
    models : sequence of Module
        Modules of one class, all in training or all in evaluation mode.

    Returns
    -------
    tuple of dict
        The parameters and the buffers by name, each with a first dimension for the modules.

    Raises
    ------
    RuntimeError
        If the list is empty, or the modules do not go together.

    Examples
    --------
    >>> import tt
    >>> params, buffers = tt.func.stack_module_state([tt.nn.Linear(2, 3) for _ in range(4)])
    >>> params["weight"].shape
    tt.Size([4, 3, 2])
    """
    modules = list(models)
    if not modules:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({module.training for module in modules}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(module) for module in modules}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = [dict(module.named_parameters()) for module in modules]
    buffers = [dict(module.named_buffers()) for module in modules]
    return (
        {name: _stacked([part[name] for part in params], name) for name in params[0]},
        {name: _stacked([part[name] for part in buffers], name) for name in buffers[0]},
    )


def _stacked(tensors: list[Any], name: str) -> Any:
    needed = {tensor.requires_grad for tensor in tensors}
    if len(needed) > 1:
        raise RuntimeError(
            f"stack_module_state: Expected {name} of all models to have the same requires_grad."
        )
    # Leaves, so that gradients of the stacks can be taken.
    return tt.stack([tensor.detach() for tensor in tensors]).requires_grad_(needed.pop())
