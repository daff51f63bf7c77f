"""`tt.func`: products with Jacobians in both modes, and whole Jacobians from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from tt.core.library import Tensor, TensorBase, errors, ops, tree_flatten, tree_unflatten
from tt.plugins.autograd.record.graph import STATE
from tt.plugins.autograd.record.inference import outside_inference
from tt.plugins.autograd.record.modes import recording
from tt.plugins.autograd.transforms.captured import Arguments
from tt.plugins.autograd.transforms.functional import detached, mapped_over, positions_of, result_and_aux
from tt.plugins.autograd.transforms.levels import (
    differentiating,
    dual,
    enter_dual,
    is_differentiating,
    leave_dual,
    levels,
    primal_and_tangent,
)
from tt.plugins.autograd.transforms.randomness import check_randomness
from tt.plugins.autograd.transforms.unwrap import Variable, is_recorded, pull, variable, without_history

__all__ = ["hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def _expect_tensors(function: str, what: str, values: Sequence[Any]) -> None:
    for value in values:
        if not isinstance(value, TensorBase):
            raise errors.GradientError(f"{function}(): {what} must be tensors, got {errors.describe(value)}")
    if not values:
        raise errors.GradientError(f"{function}(): {what} must be tensors, and there are none")


def _expect_real(function: str, what: str, values: Sequence[Any]) -> None:
    """Raise for complex tensors: of those the rows of a Jacobian say nothing without a convention."""
    for index, value in enumerate(values):
        if value.is_complex():
            raise errors.GradientError(
                f"{function}: Expected all {what} to be real but received complex tensor at flattened index {index}\n"
                f"  try: tt.view_as_real"
            )


# --- vjp -------------------------------------------------------------------------------------------------------


@outside_inference
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return the value of a function and a function that multiplies a vector with its Jacobian.

    Parameters
    ----------
    func : callable
        Takes tensors, or trees of them, and returns a tensor or a tree.
    *primals : Tensor or tree
        The point.
    has_aux : bool
        Whether `func` returns something besides the result, which is passed on.

    Returns
    -------
    tuple
        (value, function) or (value, function, aux).  The function takes cotangents like the value and returns a tuple
        with one result for each of the primals.

    Examples
    --------
    >>> import tt
    >>> value, multiply = tt.func.vjp(lambda x: x ** 2, tt.tensor([1.0, 2.0]))
    >>> multiply(tt.tensor([1.0, 10.0]))
    (tensor([ 2., 40.]),)
    """
    values, shape = tree_flatten(primals)
    _expect_tensors("vjp", "the primals", values)
    outer = levels()
    variables = [variable(value, outer) for value in values]
    # Under no_grad the result is a constant for all that is further out.
    nested = STATE.enabled() and (is_differentiating() or any(not v.bare.is_leaf for v in variables))
    # As in PyTorch, `vjp` differentiates under `no_grad`, too.
    with differentiating(), recording(True):
        result = func(*tree_unflatten([v.tensor for v in variables], shape))
    output, aux = result_and_aux("vjp", result, has_aux)
    outputs, output_shape = tree_flatten(output)
    _expect_tensors("vjp", "the results of the function", outputs)

    @outside_inference
    def multiply(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        flat, given_shape = tree_flatten(cotangents)
        if given_shape != output_shape:
            raise errors.GradientError(
                "vjp: the cotangents do not have the structure of the function's result"
            )
        create = (
            STATE.enabled() and (nested or is_differentiating()) if create_graph is None else create_graph
        )
        return tree_unflatten(_products(outputs, variables, flat, create), shape)

    # A history would lead to variables that the caller cannot reach, and would keep the graph alive.
    seen = tree_unflatten([o if nested else without_history(o) for o in outputs], output_shape)
    if not has_aux:
        return seen, multiply
    return seen, multiply, aux if nested else detached(aux)


def _products(
    outputs: Sequence[Any], variables: Sequence[Variable], given: Sequence[Any], create: bool
) -> list[Any]:
    total: list[Any] = []
    for output, cotangent in zip(outputs, given, strict=True):
        if tuple(cotangent.shape) != tuple(output.shape):
            raise errors.GradientError(
                f"vjp: a cotangent has shape {list(cotangent.shape)}, and its result {list(output.shape)}"
            )
        products = pull(output, variables, cotangent, create)
        total = products if not total else [ops.add(a, b) for a, b in zip(total, products, strict=True)]
    return total


# --- jvp -------------------------------------------------------------------------------------------------------


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False,
    has_aux: bool = False,
) -> Any:  # fmt: skip
    """Return the value of a function and the product of its Jacobian with tangents, in forward mode.

    Parameters
    ----------
    func : callable
        Takes tensors, or trees of them, and returns a tensor or a tree.
    primals, tangents : tuple
        The point, and the direction, of the same structure.
    strict : bool
        Whether a result that does not depend on the primals is an error rather than zero.
    has_aux : bool
        Whether `func` returns something besides the result, which is passed on.

    Examples
    --------
    >>> import tt
    >>> tt.func.jvp(lambda x: x ** 2, (tt.tensor([1.0, 2.0]),), (tt.tensor([1.0, 10.0]),))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise errors.GradientError("jvp(): primals and tangents are tuples: jvp(f, (x,), (t,))")
    values, shape = tree_flatten(primals)
    directions, direction_shape = tree_flatten(tangents)
    if shape != direction_shape:
        raise errors.GradientError("jvp: the tangents do not have the structure of the primals")
    _expect_tensors("jvp", "the primals", values)
    _expect_tensors("jvp", "the tangents", directions)
    for what, tensors in (("primal", values), ("tangent", directions)):
        for tensor in tensors:
            if not STATE.floating >> tensor._spec.code & 1:
                raise errors.ValueRangeError(f"jvp(): a {what} has {tensor.dtype}, which has no derivative")
    for value, direction in zip(values, directions, strict=True):
        if tuple(value.shape) != tuple(direction.shape):
            raise errors.GradientError(
                f"jvp: a tangent has shape {list(direction.shape)}, and its primal {list(value.shape)}"
            )
    # Not a block: `leave_dual` must come after the results were opened, which need the level open.
    level = enter_dual()
    level.given += directions
    try:
        moving = [dual(v, t, level) for v, t in zip(values, directions, strict=True)]
        result = func(*tree_unflatten(moving, shape))
        output, aux = result_and_aux("jvp", result, has_aux)
        outputs, output_shape = tree_flatten(output)
        _expect_tensors("jvp", "the results of the function", outputs)
        pairs = [primal_and_tangent(o, level) for o in outputs]
        if has_aux:
            parts, aux_shape = tree_flatten(aux)
            aux = tree_unflatten([primal_and_tangent(a, level)[0] for a in parts], aux_shape)
    finally:
        leave_dual(level)
    if strict and any(tangent is None for _, tangent in pairs):
        raise errors.GradientError("jvp: a result does not depend on the primals, and strict=True")
    results = tree_unflatten([value for value, _ in pairs], output_shape)
    moved = tree_unflatten([ops.zeros_like(v) if t is None else t for v, t in pairs], output_shape)
    return (results, moved, aux) if has_aux else (results, moved)


@outside_inference
def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the value of a function and its derivative at a point: a function of tangents.

    The function runs once; the recorded map is linear in the tangents and is replayed for each call.

    Parameters
    ----------
    func : callable
        Takes tensors, or trees of them, and returns a tensor or a tree.
    *primals : Tensor or tree
        The point.

    Returns
    -------
    tuple
        (value, function); the function takes one tangent for each of the primals.

    Examples
    --------
    >>> import tt
    >>> value, derivative = tt.func.linearize(lambda x: x ** 3, tt.tensor(2.0))
    >>> value, derivative(tt.tensor(1.0)), derivative(tt.tensor(10.0))
    (tensor(8.), tensor(12.), tensor(120.))
    """
    outer = levels()
    values, shape = tree_flatten(primals)
    value, multiply = vjp(func, *primals)
    outputs, output_shape = tree_flatten(value)
    # The product of a cotangent with the Jacobian is linear in the cotangent, and its transpose is the derivative.
    cotangents = [variable(ops.zeros_like(ops.detach(output)), outer) for output in outputs]
    with recording(True):
        wrapped = tree_unflatten([c.tensor for c in cotangents], output_shape)
        products, _ = tree_flatten(multiply(wrapped, create_graph=True))
    nested = STATE.enabled() and (is_differentiating() or any(is_recorded(v, outer) for v in values))

    @outside_inference
    def derivative(*tangents: Any) -> Any:
        directions, direction_shape = tree_flatten(tangents)
        if direction_shape != shape:
            raise errors.GradientError("linearize: the tangents do not have the structure of the primals")
        _expect_tensors("linearize", "the tangents", directions)
        total: list[Any] = [None] * len(outputs)
        for product, direction in zip(products, directions, strict=True):
            if tuple(product.shape) != tuple(direction.shape) or product.dtype is not direction.dtype:
                raise errors.GradientError(
                    f"linearize: a tangent is {direction.dtype} of shape {list(direction.shape)}, and its primal "
                    f"{product.dtype} of shape {list(product.shape)}"
                )
            create = STATE.enabled() and (nested or is_differentiating() or bool(direction.requires_grad))
            parts = pull(product, cotangents, direction, create)
            total = [b if a is None else ops.add(a, b) for a, b in zip(total, parts, strict=True)]
        return tree_unflatten(total, output_shape)

    return value, derivative


# --- Jacobians -------------------------------------------------------------------------------------------------


def _of_chosen(
    func: Callable[..., Any], chosen: Sequence[int], args: Sequence[Any], kwargs: dict[str, Any]
) -> Callable[..., Any]:
    """Return a function of the chosen arguments only."""

    def of_chosen(*values: Any) -> Any:
        moving = dict(zip(chosen, values, strict=True))
        others = Arguments()
        new = [moving[n] if n in moving else others.take(value) for n, value in enumerate(args)]
        result = func(*new, **others.take_named(kwargs))
        others.settle(values)
        return result

    return of_chosen


def _basis(values: Sequence[Any]) -> list[Any]:
    """Return, for each tensor, the unit vectors of all tensors together, one in each row."""
    total = sum(v.numel() for v in values)
    blocks, start = [], 0
    for value in values:
        size = value.numel()
        rows = ops.zeros((total, size), dtype=value.dtype, device=value.device)
        if size:
            rows[start : start + size] = ops.eye(size, dtype=value.dtype, device=value.device)
        blocks.append(ops.reshape(rows, (total, *value.shape)))
        start += size
    return blocks


def _in_chunks(
    function: Callable[..., Any], rows: Sequence[Any], chunk: int | None, randomness: str = "same"
) -> list[Any]:
    """Map a function, which returns a list, over the rows, a chunk at a time."""
    count = int(rows[0].shape[0])
    if not count:
        # Nothing to map over; one call with a zero row gives the shapes.
        results = function(*[ops.zeros(r.shape[1:], dtype=r.dtype, device=r.device) for r in rows])
        return [ops.zeros((0, *f.shape), dtype=f.dtype, device=f.device) for f in results]
    return list(mapped_over(function, 0, 0, randomness, chunk, implicit=True)(*rows))


def _is_strided(value: Any) -> bool:
    return bool(value.layout.name == "strided")


def _block(rows: Any, result: Tensor, value: Any) -> Any:
    """Return the Jacobian of a result by an argument from the gradients of its elements."""
    if isinstance(rows, tuple):
        if not result.ndim:
            return rows[0]
        rows = ops.stack(rows)
        if result.ndim == 1:
            return rows
    return ops.reshape(rows, (*result.shape, *value.shape))


def _expect_strided(name: str, values: Sequence[Any]) -> None:
    for value in values:
        if not _is_strided(value):
            raise errors.UnsupportedError(
                f"{name}(): forward mode has no tangents of tensors of layout {value.layout}\n"
                "  try: dense tensors, or reverse mode (tt.func.vjp, tt.func.jacrev)"
            )


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of another in reverse mode: one pass for each result's element.

    Parameters
    ----------
    func : callable
        Returns a tensor or a tree of tensors.
    argnums : int or tuple of int
        The arguments with respect to which to differentiate.
    has_aux : bool
        Whether `func` returns something besides the result, which is passed on.
    chunk_size : int, optional
        How many passes run at once; all by default.
    _preallocate_and_copy : bool
        Changes nothing: where PyTorch can save memory by it, chunks are joined once here.

    Returns
    -------
    callable
        Its results have the dims of the result, then the dims of the argument.

    Examples
    --------
    >>> import tt
    >>> tt.func.jacrev(lambda x: x ** 2)(tt.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @outside_inference
    @wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = positions_of("jacrev", argnums, len(args))

        output, multiply, *aux = vjp(
            _of_chosen(func, chosen, args, kwargs), *[args[n] for n in chosen], has_aux=has_aux
        )
        outputs, shape = tree_flatten(output)
        inputs, input_shape = tree_flatten(tuple(args[n] for n in chosen))
        _expect_real("jacrev", "inputs", inputs)
        _expect_real("jacrev", "outputs", outputs)

        def pull_back(*cotangents: Any) -> list[Any]:
            return tree_flatten(multiply(tree_unflatten(list(cotangents), shape)))[0]

        if all(_is_strided(value) for value in inputs):
            rows = _in_chunks(pull_back, _basis(outputs), chunk_size)
        else:  # gradients of other layouts have no batches
            rows = list(zip(*[pull_back(*row) for row in zip(*_basis(outputs), strict=True)], strict=True))
        rows_of_blocks, start = [], 0
        for result in outputs:
            size = result.numel()
            blocks = [
                _block(row[start : start + size], result, value)
                for row, value in zip(rows, inputs, strict=True)
            ]
            start += size
            by_argument = tree_unflatten(blocks, input_shape)
            rows_of_blocks.append(by_argument[0] if isinstance(argnums, int) else by_argument)
        jacobians = tree_unflatten(rows_of_blocks, shape)
        return (jacobians, aux[0]) if has_aux else jacobians

    return jacobian


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of another in forward mode: one pass for each argument's element.

    Parameters
    ----------
    func : callable
        Returns a tensor or a tree of tensors.
    argnums : int or tuple of int
        The arguments with respect to which to differentiate.
    has_aux : bool
        Whether `func` returns something besides the result, which is passed on.
    randomness : str
        What random operators of `func` do, as for `vmap`: "error", "same" or "different".
    chunk_size : int, optional
        How many passes run at once; all by default.

    Examples
    --------
    >>> import tt
    >>> tt.func.jacfwd(lambda x: x ** 2)(tt.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    check_randomness("jacfwd", randomness)

    @outside_inference
    @wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = positions_of("jacfwd", argnums, len(args))
        inputs, input_shape = tree_flatten(tuple(args[n] for n in chosen))
        _expect_tensors("jacfwd", "the arguments", inputs)
        _expect_real("jacfwd", "inputs", inputs)
        _expect_strided("jacfwd", inputs)
        # The mapped function returns tangents alone; the value is the same for all directions and is noted
        # aside.
        seen: dict[str, Any] = {}

        def push(*directions: Any) -> list[Any]:
            primals = tuple(args[n] for n in chosen)
            results = jvp(
                _of_chosen(func, chosen, args, kwargs),
                primals,
                tree_unflatten(list(directions), input_shape),
                has_aux=has_aux,
            )
            seen["value"], seen["aux"] = results[0], results[2] if has_aux else None
            moved, seen["shape"] = tree_flatten(results[1])
            _expect_real("jacfwd", "outputs", moved)
            return moved

        columns = _in_chunks(push, _basis(inputs), chunk_size, randomness)
        results = []
        for column in columns:
            blocks, start = [], 0
            for value in inputs:
                size = value.numel()
                # Rows are directions, that is elements of the argument, whose dims a Jacobian has last.
                block = ops.movedim(column[start : start + size], 0, -1)
                blocks.append(ops.reshape(block, (*column.shape[1:], *value.shape)))
                start += size
            by_argument = tree_unflatten(blocks, input_shape)
            results.append(by_argument[0] if isinstance(argnums, int) else by_argument)
        jacobians = tree_unflatten(results, seen["shape"])
        return (jacobians, seen["aux"]) if has_aux else jacobians

    return jacobian


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """Return a function that computes the second derivatives of another: forward mode over reverse mode.

    Examples
    --------
    >>> import tt
    >>> tt.func.hessian(lambda x: (x ** 3).sum())(tt.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    # The gradient of a scalar takes one reverse pass; forward mode over it needs no second graph.
    return jacfwd(jacrev(func, argnums), argnums)
