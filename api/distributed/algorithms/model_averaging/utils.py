"""Averages of parameters over the ranks of a group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import tt
from tt import Tensor
from tt.distributed import collectives, ranks
from tt.distributed.process_group import ProcessGroup

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterable[Tensor], process_group: ProcessGroup | None = None) -> None:
    """Replace parameters by their averages over the ranks of a group, those of one dtype in one message.

    Parameters
    ----------
    params : iterable of Parameter
        The same on all ranks.
    process_group : ProcessGroup, optional
        The ranks; by default all.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> from tt.distributed.algorithms.model_averaging.utils import average_parameters
    >>> def program():
    ...     x = tt.nn.Parameter(tt.tensor([float(dist.get_rank())]))
    ...     average_parameters([x])
    ...     return x.item()
    >>> dist.run_threads(program, 3)
    [1.0, 1.0, 1.0]
    """
    if ranks.get_rank(process_group) < 0:
        return  # as in PyTorch: a rank that does not belong to the group has nothing to average
    together: dict[Any, list[Tensor]] = {}
    for parameter in params:
        together.setdefault((parameter.dtype, parameter.device), []).append(parameter.detach())
    for tensors in together.values():
        # Divided before the sum, which could overflow in a small dtype.
        flat = tt.cat([tensor.reshape(-1) for tensor in tensors]).div_(ranks.get_world_size(process_group))
        collectives.all_reduce(flat, group=process_group)
        for tensor, piece in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
            tensor.copy_(piece.view(tensor.shape))


def get_params_to_average(params: Iterable[Any]) -> list[Tensor]:
    """Return the parameters that have gradients, of parameters or of an optimizer's groups.

    Raises
    ------
    NotImplementedError
        There is something else than tensors and groups.
    """
    return [parameter for parameter in _flat(params) if parameter.grad is not None]


def _flat(params: Iterable[Any]) -> Iterator[Tensor]:
    for each in params:
        if isinstance(each, Tensor):
            yield each
        elif isinstance(each, dict):
            yield from each["params"]
        else:
            raise NotImplementedError(
                f"Parameter input of type {type(each).__name__} is not supported: give parameters or parameter groups"
            )


def average_parameters_or_parameter_groups(
    params: Iterable[Any], process_group: ProcessGroup | None = None
) -> None:
    """Replace the parameters that have gradients by their averages; see `average_parameters`."""
    average_parameters(get_params_to_average(params), process_group)
