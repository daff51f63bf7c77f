"""An optimizer with other parameters and another state, for a while."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import tt
from tt.optim.optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: Mapping[str, tt.Tensor], swapin_optim_state: Mapping[str, Any]
) -> Iterator[None]:
    """Give an optimizer other parameters and another state for the length of a `with` statement.

    Steps change these tensors in place; tensors that a step adds to the state are forgotten at the end.

    Parameters
    ----------
    optimizer : Optimizer
        An optimizer that has a state.
    swapin_parameters : dict of str to Tensor
        The parameters, in the order of the optimizer's.
    swapin_optim_state : dict
        A state and options as `state_dict` returns them.

    Raises
    ------
    RuntimeError
        If the optimizer has no state yet, or parameters and groups do not correspond to its own.

    Examples
    --------
    >>> import tt
    >>> p = tt.ones(1, requires_grad=True)
    >>> optimizer = tt.optim.Adam([p], lr=0.5)
    >>> p.sum().backward()
    >>> optimizer.step()
    >>> other = {"p": tt.zeros(1)}
    >>> with tt.optim.swap_in_optimizer_params_and_state(optimizer, other, optimizer.state_dict()):
    ...     other["p"].grad = tt.ones(1)
    ...     optimizer.step()
    >>> other["p"], p.detach()
    (tensor([-0.5000]), tensor([0.5000]))
    """
    name = "swap_in_optimizer_params_and_state"
    if not optimizer.state:
        raise RuntimeError(f"{name}() requires initialized optimizer state: take a step first")
    groups = swapin_optim_state.get("param_groups")
    if not isinstance(groups, list):
        raise RuntimeError(
            f"{name}() requires swapin_optim_state['param_groups'] to be a list of param-group dicts, got "
            f"{type(groups).__name__}"
        )
    own = optimizer.param_groups
    if len(groups) != len(own):
        raise RuntimeError(
            f"swapin_optim_state has {len(groups)} parameter groups, and the optimizer has {len(own)}"
        )
    params = list(swapin_parameters.values())
    counts = [len(group["params"]) for group in own]
    if sum(counts) != len(params) or counts != [len(group["params"]) for group in groups]:
        raise RuntimeError(
            f"{name}() requires the parameters to match optimizer.param_groups: it has {counts} in its groups, but "
            f"{len(params)} were given, with the groups {[len(group['params']) for group in groups]}"
        )
    entries = swapin_optim_state.get("state", {})
    following = iter(params)
    new_groups = []
    new_state: defaultdict[tt.Tensor, dict[str, object]] = defaultdict(dict)
    for group in groups:
        mine = []
        for number in group["params"]:
            param = next(following)
            mine.append(param)
            if number in entries:
                new_state[param] = dict(entries[number])
        new_groups.append({**group, "params": mine})
    before = optimizer.state
    optimizer.param_groups, optimizer.state = new_groups, new_state
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = own, before
