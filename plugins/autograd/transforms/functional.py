"""`tt.func`: functions of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from tt.core.library import (
    Tensor,
    TensorBase,
    default_states,
    errors,
    ops,
    set_default_states,
    tree_flatten,
    tree_unflatten,
)
from tt.plugins.autograd.record.graph import STATE
from tt.plugins.autograd.record.inference import mark, outside_inference
from tt.plugins.autograd.record.modes import recording
from tt.plugins.autograd.transforms.captured import Arguments
from tt.plugins.autograd.transforms.levels import (
    Level,
    batched,
    differentiating,
    is_differentiating,
    levels,
    move_dim,
    running,
    unwrap,
)
from tt.plugins.autograd.transforms.randomness import Randomness, check_randomness
from tt.plugins.autograd.transforms.trees import maps_itself, spread_like
from tt.plugins.autograd.transforms.unwrap import Variable, pull, variable, without_history

__all__ = [
    "detached",
    "grad",
    "grad_and_value",
    "leave",
    "mapped_over",
    "positions_of",
    "result_and_aux",
    "vmap",
]


# --- vmap ------------------------------------------------------------------------------------------------------


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that maps another over a dim of its arguments, all examples at once.

    Parameters
    ----------
    func : callable
        Takes and returns tensors, or tuples, lists and dicts of them.
    in_dims : int, None, or nested like the arguments
        The dim of each argument to map over; None: the argument is the same for all.
    out_dims : int, None, or nested like the result
        Where the dim goes in each result; None: the result is the same for all, and need not be a tensor.
    randomness : str
        What random operators do: "error" refuses them, "same" draws the same numbers for all examples, "different"
        others for each.
    chunk_size : int, optional
        How many examples run at once; all by default.

    Raises
    ------
    ValueError
        When no argument is mapped over, the sizes differ, a dim is not there, or the chunks have no elements.
    RuntimeError
        When the function draws random numbers and `randomness` does not allow that.

    Examples
    --------
    >>> import tt
    >>> x, y = tt.arange(6.0).reshape(3, 2), tt.ones(3, 2)
    >>> tt.func.vmap(lambda a, b: (a * b).sum())(x, y)
    tensor([1., 5., 9.])
    """
    return mapped_over(func, in_dims, out_dims, randomness, chunk_size)


def mapped_over(
    func: Callable[..., Any],
    in_dims: Any,
    out_dims: Any,
    randomness: str,
    chunk_size: int | None,
    implicit: bool = False,
) -> Callable[..., Any]:
    """Return what `vmap` returns.

    Parameters
    ----------
    func, in_dims, out_dims, randomness, chunk_size
        As of `vmap`.
    implicit : bool
        Whether the function does not know that it is mapped, so that it may write what differs by example into a
        tensor of its own.
    """
    check_randomness("vmap", randomness)
    if chunk_size is not None and chunk_size <= 0:
        raise errors.ValueRangeError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        values, shape = tree_flatten(args, maps_itself)
        dims = spread_like(in_dims, args, "in_dims")
        # Keyword arguments are mapped over their first dim, as PyTorch does.
        names, named_shape = tree_flatten(kwargs, maps_itself)
        mapped_names = (0 if isinstance(v, TensorBase) or maps_itself(v) else None for v in names)
        values, dims = [*values, *names], [*dims, *mapped_names]
        size = _size(values, dims)

        def run(values: list[Any], size: int) -> tuple[list[Any], list[Any], Any]:
            with running(size, randomness, implicit) as level, Randomness(level, randomness):
                wrapped = [v if d is None else _enter(v, d, level) for v, d in zip(values, dims, strict=True)]
                count = len(values) - len(names)
                result = func(
                    *tree_unflatten(wrapped[:count], shape), **tree_unflatten(wrapped[count:], named_shape)
                )
                results, result_shape = tree_flatten(result, maps_itself)
                positions = spread_like(out_dims, result, "out_dims")
                out = [leave(r, d, level) for r, d in zip(results, positions, strict=True)]
            mark(out)
            return out, positions, result_shape

        if chunk_size is None or chunk_size >= size:
            out, _, result_shape = run(values, size)
            return tree_unflatten(out, result_shape)
        start = default_states()
        parts = []
        for begin in range(0, size, chunk_size):
            # All examples draw the same numbers, in whatever chunk they are.
            if randomness == "same":
                set_default_states(start)
            length = min(chunk_size, size - begin)
            chunk = [
                v if d is None else _part(v, d, begin, length) for v, d in zip(values, dims, strict=True)
            ]
            out, positions, result_shape = run(chunk, length)
            parts.append(out)
        joined = [
            # What is the same for all examples is so in each chunk.
            column[0] if position is None else ops.cat(list(column), position)
            for position, column in zip(positions, zip(*parts, strict=True), strict=True)
        ]
        return tree_unflatten(joined, result_shape)

    return mapped


def _size(values: Sequence[Any], dims: Sequence[Any]) -> int:
    sizes = []
    for value, dim in zip(values, dims, strict=True):
        if dim is None:
            continue
        if not isinstance(value, TensorBase) and not maps_itself(value):
            raise errors.ValueRangeError(
                f"vmap: in_dims has {dim!r} for an argument that is not a tensor but {errors.describe(value)}; try None"
            )
        shape = _shape(value)
        if not isinstance(dim, int) or not -len(shape) <= dim < len(shape):
            raise errors.ValueRangeError(f"vmap: in_dims has {dim!r} for a tensor of {len(shape)} dimensions")
        sizes.append(int(shape[dim]))
    if not sizes:
        raise errors.ValueRangeError("vmap: at least one argument must be mapped over; all in_dims are None")
    if len(set(sizes)) > 1:
        raise errors.ValueRangeError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes}"
        )
    return sizes[0]


def _shape(value: Any) -> Sequence[int]:
    """Return the sizes of the dims that can be mapped over: of a TensorDict, its batch size."""
    shape: Sequence[int] = (
        value.batch_size if maps_itself(value) and hasattr(value, "batch_size") else value.shape
    )
    return shape


def _enter(value: Any, dim: int, level: Level) -> Any:
    """Return an argument with its dim hidden at a level."""
    if maps_itself(value):
        return value._add_batch_dim(in_dim=dim % len(_shape(value)), vmap_level=level.depth + 1)
    return batched(value, dim, level)


def _part(value: Any, dim: int, begin: int, length: int) -> Any:
    """Return some of the examples of an argument."""
    if maps_itself(value):
        return value[(slice(None),) * (dim % len(_shape(value))) + (slice(begin, begin + length),)]
    return ops.narrow(value, dim, begin, length)


def leave(result: Any, dim: Any, level: Level) -> Any:
    """Return a result of a level with its hidden dim in the open."""
    if maps_itself(result):
        if dim is None:
            return result
        return result._remove_batch_dim(vmap_level=level.depth + 1, batch_size=level.size, out_dim=dim)
    if not isinstance(result, TensorBase):
        if dim is None:
            return result
        raise errors.ValueRangeError(
            f"vmap: the function must return only Tensors, got {errors.describe(result)}"
        )
    inside, hidden = unwrap(result, level)
    if dim is None:
        if hidden is not None:
            raise errors.ValueRangeError("vmap: out_dims is None for a result that differs by example")
        return inside
    if hidden is None:
        inside, hidden = ops.expand(ops.unsqueeze(inside, 0), (level.size, *inside.shape)), 0
    if not -inside.ndim <= dim < inside.ndim:
        raise errors.IndexValueError(
            f"vmap: out_dims has {dim} for a result of {inside.ndim} dimensions, that of the examples included"
        )
    return move_dim(inside, hidden, dim)


# --- grad ------------------------------------------------------------------------------------------------------


def grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the gradient of another.

    Parameters
    ----------
    func : callable
        Returns a scalar tensor, or a pair of it and anything with `has_aux`.
    argnums : int or tuple of int
        The arguments with respect to which to differentiate.
    has_aux : bool
        Whether `func` returns something besides the scalar, which is passed on.

    Examples
    --------
    >>> import tt
    >>> tt.func.grad(lambda x: x ** 3)(tt.tensor(2.0))
    tensor(12.)
    >>> tt.func.vmap(tt.func.grad(lambda x: (x ** 2).sum()))(tt.ones(2, 3))
    tensor([[2., 2., 2.],
            [2., 2., 2.]])
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return differentiated


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the gradient of another and its value; with the arguments of `grad`."""

    @outside_inference
    @wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        chosen = positions_of("grad", argnums, len(args))
        values, shape = tree_flatten([args[n] for n in chosen])
        variables = [_variable(value) for value in values]
        # Under no_grad the gradient is a constant for all that is further out.
        outer = STATE.enabled() and (is_differentiating() or any(not v.bare.is_leaf for v in variables))
        moving = dict(zip(chosen, tree_unflatten([v.tensor for v in variables], shape), strict=True))
        others = Arguments()
        with differentiating(), recording(True):
            new_args = [moving[n] if n in moving else others.take(value) for n, value in enumerate(args)]
            result = func(*new_args, **others.take_named(kwargs))
        others.settle([v.bare for v in variables])
        output, aux = result_and_aux("grad", result, has_aux)
        _check_scalar(output)
        grads = tree_unflatten(pull(output, variables, ops.ones_like(ops.detach(output)), outer), shape)
        gradients = grads[0] if isinstance(argnums, int) else tuple(grads)
        bare = output if outer else without_history(output)
        return gradients, (bare, aux if outer else detached(aux)) if has_aux else bare

    return differentiated


def positions_of(function: str, argnums: Any, count: int) -> tuple[int, ...]:
    """Return the positions that `argnums` names among `count` arguments.

    Raises
    ------
    RuntimeError
        Unless it is an int, or a tuple of different ones, of arguments that are there.
    """
    listed = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(listed, tuple) or not all(isinstance(n, int) for n in listed):
        raise errors.GradientError(
            f"{function}(): argnums must be int or Tuple[int, ...], got {errors.describe(argnums)}"
        )
    if not listed:
        raise errors.GradientError(f"{function}(): argnums must be non-empty")
    if any(not -count <= n < count for n in listed):
        raise errors.GradientError(
            f"{function}(): got argnum={argnums}, but only {count} positional inputs are given"
        )
    positions = tuple(n % count for n in listed)
    if len(set(positions)) < len(positions):
        raise errors.GradientError(f"{function}(): argnums elements must be unique, got {argnums}")
    return positions


def result_and_aux(function: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    """Return what a function returned, as its result and what it returned besides.

    Raises
    ------
    RuntimeError
        Unless it is a pair, with `has_aux`.
    """
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise errors.GradientError(
            f"{function}(): the function should return a tuple (output, aux) if has_aux is True, "
            f"got {errors.describe(result)}"
        )
    return result


def detached(aux: Any) -> Any:
    """Return what a function returns besides its result, with tensors that have no history of the transform."""
    values, shape = tree_flatten(aux)
    return tree_unflatten([without_history(v) if isinstance(v, TensorBase) else v for v in values], shape)


def _variable(value: Any) -> Variable:
    if not isinstance(value, TensorBase):
        raise errors.ArgumentError(
            "grad", f"can be differentiated with respect to tensors only, not {errors.describe(value)}"
        )
    return variable(value, levels())


def _check_scalar(output: Tensor) -> None:
    if not isinstance(output, TensorBase):
        raise errors.GradientError(f"grad: the function must return a Tensor, got {errors.describe(output)}")
    if output.ndim:
        raise errors.ShapeError(
            f"grad: the function must return a scalar, got a tensor of shape {list(output.shape)}"
        )
