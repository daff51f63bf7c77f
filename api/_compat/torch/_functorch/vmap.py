"""torch._functorch.vmap: the parts of `vmap` that libraries extend for tensor-likes of their own."""

from __future__ import annotations

import functools
from typing import Any

import tt
from tt import Tensor
from tt._compat.torch._C._functorch import _add_batch_dim, _remove_batch_dim
from tt.errors import ValueRangeError
from tt.func import vmap
from tt.utils._pytree import (
    TreeSpec,
    _broadcast_to_and_flatten,
    tree_flatten,
    tree_map_,
    tree_unflatten,
)

__all__ = ["vmap"]


def _get_name(func: Any) -> str:
    """Return the name of a function for a message."""
    return getattr(func, "__name__", None) or repr(func)


def _as_tuple(value: Any, num_elements: int, error_message_lambda: Any) -> tuple[Any, ...]:
    if num_elements == 1:
        return (value,)
    if not isinstance(value, tuple) or len(value) != num_elements:
        raise ValueRangeError(error_message_lambda())
    return value


def _process_batched_inputs(
    in_dims: Any, args: tuple[Any, ...], func: Any
) -> tuple[int, list[Any], list[Any], TreeSpec]:
    """Return the number of examples, the dims and values as flat lists, and how the arguments nest."""
    if not args:
        raise ValueRangeError(f"vmap({_get_name(func)})(): got no inputs")
    flat, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueRangeError(
            f"vmap({_get_name(func)}, in_dims={in_dims}): in_dims does not have the structure of the inputs"
        )
    sizes = set()
    for position, (value, dim) in enumerate(zip(flat, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(value, Tensor):
            raise ValueRangeError(f"vmap({_get_name(func)}): in_dim {dim} for an input of {type(value)}")
        if not -value.dim() <= dim < value.dim():
            raise ValueRangeError(
                f"vmap({_get_name(func)}): in_dim {dim} for an input with {value.dim()} dimensions"
            )
        dims[position] = dim % value.dim()
        sizes.add(value.size(dims[position]))
    if len(sizes) != 1:
        raise ValueRangeError(
            f"vmap({_get_name(func)}): {'no input is mapped over' if not sizes else f'sizes differ: {sorted(sizes)}'}"
        )
    return sizes.pop(), dims, flat, spec


def _create_batched_inputs(
    flat_in_dims: list[Any], flat_args: list[Any], vmap_level: int, args_spec: TreeSpec
) -> Any:
    """Return the arguments with their dims hidden at a level."""
    return tree_unflatten(
        [
            value if dim is None else _add_batch_dim(value, dim, vmap_level)
            for value, dim in zip(flat_args, flat_in_dims, strict=True)
        ],
        args_spec,
    )


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: Any
) -> Any:
    """Return an output with its dim in the open; others as they are where nothing is to be stacked."""
    if out_dim is None:
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueRangeError(f"vmap({name}): must return tensors, got {type(batched_output)}")
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _unwrap_batched(batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Any) -> Any:
    """Return outputs with their dims in the open."""
    flat, spec = tree_flatten(batched_outputs)
    dims = _broadcast_to_and_flatten((out_dims,) if isinstance(batched_outputs, Tensor) else out_dims, spec)
    if isinstance(batched_outputs, Tensor):
        dims = [out_dims]
    if dims is None:
        raise ValueRangeError(f"vmap({_get_name(func)}): out_dims {out_dims} does not fit the outputs")
    return tree_unflatten(
        [
            _maybe_remove_batch_dim(_get_name(func), value, vmap_level, batch_size, dim)
            for value, dim in zip(flat, dims, strict=True)
        ],
        spec,
    )
