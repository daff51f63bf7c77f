"""`tt.autograd.functional`: Jacobians, Hessians and their products with vectors, from plain backward passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import TensorBase, errors, ops
from tt.plugins.autograd.backward.functional import grad
from tt.plugins.autograd.record.grad_state import STATE
from tt.plugins.autograd.record.inference import outside_inference
from tt.plugins.autograd.record.modes import recording

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _tuple_of(value: Any, what: str, function: str) -> tuple[tuple[Any, ...], bool]:
    """Return tensors as a tuple, and whether they were one."""
    is_tuple = isinstance(value, tuple)
    values = value if is_tuple else (value,)
    for position, each in enumerate(values):
        if not isinstance(each, TensorBase):
            raise errors.ArgumentError(
                function, f"{what} {position} must be a Tensor, not {errors.describe(each)}",
                hint=f"{what}s are a tensor or a tuple of tensors",
            )  # fmt: skip
    return values, is_tuple


def _leaves(inputs: Sequence[Any], create_graph: bool) -> tuple[Any, ...]:
    """Return the inputs as places in their own graph."""
    # A view has a node of its own: gradients stop there, and an outer derivative goes on through it.
    return tuple(v.view_as(v) if create_graph and v.requires_grad else _leaf(v) for v in inputs)


def _leaf(value: Any) -> Any:
    leaf = value.detach()
    leaf._keys &= ~STATE.inference_bit  # a tensor of inference mode may be a point, as for the transforms
    return leaf.requires_grad_()


def _run(func: Callable[..., Any], inputs: Sequence[Any], function: str) -> tuple[tuple[Any, ...], bool]:
    with recording(True):
        return _tuple_of(func(*inputs), "result", function)


def _direction(v: Any, like: Sequence[Any], what: str, function: str) -> tuple[Any, ...]:
    if v is None:
        if len(like) == 1 and like[0].numel() == 1:
            return (ops.ones_like(like[0]),)
        raise errors.GradientError(f"{function}: v may be left out only for a single {what} of one element")
    vectors, _ = _tuple_of(v, "vector", function)
    if len(vectors) != len(like):
        raise errors.GradientError(
            f"{function}: v has {len(vectors)} tensors, and there are {len(like)} {what}s"
        )
    for position, (one, other) in enumerate(zip(vectors, like, strict=True)):
        if tuple(one.shape) != tuple(other.shape):
            raise errors.GradientError(
                f"{function}: vector {position} has shape {list(one.shape)}, and its {what} {list(other.shape)}"
            )
    return vectors


def _grads(
    outputs: Sequence[Any], inputs: Sequence[Any], v: Sequence[Any] | None, create_graph: bool, strict: bool,
    function: str,
) -> tuple[Any, ...]:  # fmt: skip
    """Return gradients; zeros, or an error with `strict`, for what does not depend on an input."""
    # The engine refuses outputs without history; their part of the gradient is zero.
    moving = [(o, g) for o, g in zip(outputs, v or [None] * len(outputs), strict=True) if o.requires_grad]
    if strict and len(moving) < len(outputs):
        raise errors.GradientError(f"{function}: a result does not depend on the inputs, and strict=True")
    if not moving:
        return tuple(ops.zeros_like(i.detach()) for i in inputs)
    grads = grad(
        [o for o, _ in moving], list(inputs), [g for _, g in moving], retain_graph=True, create_graph=create_graph,
        allow_unused=True,
    )  # fmt: skip
    if strict and any(g is None for g in grads):
        raise errors.GradientError(f"{function}: the result does not depend on an input, and strict=True")
    return tuple(ops.zeros_like(i.detach()) if g is None else g for g, i in zip(grads, inputs, strict=True))


def _finished(values: Sequence[Any], as_tuple: bool, create_graph: bool) -> Any:
    kept = tuple(v if create_graph else v.detach() for v in values)
    return kept if as_tuple else kept[0]


def _expect_dependent(derivatives: Sequence[Any], create_graph: bool, strict: bool, function: str) -> None:
    """Raise with `strict` if a derivative that is to be differentiated itself is a constant."""
    if create_graph and strict and not all(derivative.requires_grad for derivative in derivatives):
        raise errors.GradientError(
            f"{function}: the derivative does not depend on an input, and create_graph=True and strict=True"
        )


@outside_inference
def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the value of a function and the product of a vector with its Jacobian.

    Parameters
    ----------
    func : callable
        Takes tensors and returns a tensor or a tuple of tensors.
    inputs : Tensor or tuple of Tensor
        The point.
    v : Tensor or tuple of Tensor, optional
        The vector, like the results; may be left out for a single result of one element.
    create_graph : bool
        Record, so that the product can be differentiated.
    strict : bool
        Raise where a result does not depend on an input, instead of giving zeros.

    Examples
    --------
    >>> import tt
    >>> tt.autograd.functional.vjp(lambda x: x ** 2, tt.tensor([1.0, 2.0]), tt.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    tensors, as_tuple = _tuple_of(inputs, "input", "vjp")
    leaves = _leaves(tensors, create_graph)
    outputs, outputs_tuple = _run(func, leaves, "vjp")
    direction = _direction(v, outputs, "result", "vjp")
    products = _grads(outputs, leaves, direction, create_graph, strict, "vjp")
    _expect_dependent(products, create_graph, strict, "vjp")
    return _finished(outputs, outputs_tuple, create_graph), _finished(products, as_tuple, create_graph)


def _jvp(
    outputs: Sequence[Any],
    leaves: Sequence[Any],
    v: Sequence[Any],
    create_graph: bool,
    strict: bool,
    function: str,
) -> tuple[Any, ...]:
    """Return the product of the Jacobian with a vector by two backward passes."""
    # Zeros, as any value would do: the first pass is linear in them, and the second differentiates by them.
    dummies = tuple(ops.zeros_like(o.detach()).requires_grad_() for o in outputs)
    with recording(True):
        reverse = _grads(outputs, leaves, dummies, True, strict, function)
        return _grads(reverse, dummies, v, create_graph, False, function)


@outside_inference
def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the value of a function and the product of its Jacobian with a vector.

    Two backward passes make the product; `tt.func.jvp` takes one pass, in forward mode.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As of `vjp`.
    v : Tensor or tuple of Tensor, optional
        The vector, like the inputs; may be left out for a single input of one element.

    Examples
    --------
    >>> import tt
    >>> tt.autograd.functional.jvp(lambda x: x ** 2, tt.tensor([1.0, 2.0]), tt.tensor([1.0, 0.0]))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    tensors, _ = _tuple_of(inputs, "input", "jvp")
    direction = _direction(v, tensors, "input", "jvp")
    leaves = _leaves(tensors, create_graph)
    outputs, outputs_tuple = _run(func, leaves, "jvp")
    products = _jvp(outputs, leaves, direction, create_graph, strict, "jvp")
    _expect_dependent(products, create_graph, strict, "jvp")
    return _finished(outputs, outputs_tuple, create_graph), _finished(products, outputs_tuple, create_graph)


def _strategy(strategy: str, vectorize: bool, function: str) -> None:
    if strategy not in ("reverse-mode", "forward-mode"):
        raise errors.ValueRangeError(
            f"{function}: the strategy is 'reverse-mode' or 'forward-mode', not {strategy!r}"
        )
    if strategy == "forward-mode" and not vectorize:
        raise errors.UnsupportedError(function, "strategy='forward-mode' needs vectorize=True")


@outside_inference
def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of a function.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As of `vjp`.
    vectorize : bool
        Compute all rows, or columns, at once.
    strategy : str
        "reverse-mode", or, with `vectorize`, "forward-mode".

    Returns
    -------
    Tensor or tuple
        With the dims of the result, then of the input; a tuple for several results, of tuples for several inputs.

    Examples
    --------
    >>> import tt
    >>> tt.autograd.functional.jacobian(lambda x: x ** 2, tt.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _strategy(strategy, vectorize, "jacobian")
    tensors, as_tuple = _tuple_of(inputs, "input", "jacobian")
    if vectorize:
        if strict:
            raise errors.UnsupportedError("jacobian", "strict=True needs vectorize=False")
        return _vectorized(func, tensors, as_tuple, create_graph, strategy)
    leaves = _leaves(tensors, create_graph)
    outputs, outputs_tuple = _run(func, leaves, "jacobian")
    jacobians = []
    with recording(True):
        for output in outputs:
            rows: list[list[Any]] = [[] for _ in leaves]
            for element in output.reshape(-1).unbind(0) if output.numel() else ():
                row = _grads([element], leaves, None, create_graph, strict, "jacobian")
                _expect_dependent(row, create_graph, strict, "jacobian")
                for column, g in zip(rows, row, strict=True):
                    column.append(g)
            blocks = [
                ops.reshape(ops.stack(column), (*output.shape, *leaf.shape))
                if column
                else ops.zeros((*output.shape, *leaf.shape), dtype=leaf.dtype, device=leaf.device)
                for column, leaf in zip(rows, leaves, strict=True)
            ]
            jacobians.append(_finished(blocks, as_tuple, create_graph))
    return tuple(jacobians) if outputs_tuple else jacobians[0]


def _vectorized(
    func: Callable[..., Any], given: tuple[Any, ...], as_tuple: bool, create_graph: bool, strategy: str
) -> Any:
    from tt.plugins.autograd.transforms.jacobians import jacfwd, jacrev

    numbers: Any = tuple(range(len(given))) if as_tuple else 0
    transform = jacrev if strategy == "reverse-mode" else jacfwd
    leaves = given if create_graph else tuple(v.detach() for v in given)

    def checked(*values: Any) -> Any:
        result = func(*values)
        _tuple_of(result, "result", "jacobian")
        return result

    return transform(checked, numbers)(*leaves)


def _scalar(outputs: Sequence[Any], is_tuple: bool, function: str) -> Any:
    if is_tuple or outputs[0].numel() != 1:
        shapes = [list(o.shape) for o in outputs]
        raise errors.GradientError(
            f"{function}: the function must return one element, and returned shapes {shapes}"
        )
    return outputs[0]


@outside_inference
def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the second derivatives of a function of one element.

    Parameters
    ----------
    func, inputs, create_graph, strict, vectorize
        As of `jacobian`.
    outer_jacobian_strategy : str
        How the gradient is differentiated: "reverse-mode", or, with `vectorize`, "forward-mode".

    Examples
    --------
    >>> import tt
    >>> tt.autograd.functional.hessian(lambda x: (x ** 3).sum(), tt.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _strategy(outer_jacobian_strategy, vectorize, "hessian")
    _, as_tuple = _tuple_of(inputs, "input", "hessian")

    def gradient(*values: Any) -> Any:
        output = _scalar(*_tuple_of(func(*values), "result", "hessian"), "hessian")
        if vectorize:
            from tt.plugins.autograd.transforms.functional import grad as gradient_of

            numbers = tuple(range(len(values)))
            # `grad` takes scalars only, and a result of one element may have dims.
            return gradient_of(lambda *v: func(*v).reshape(()), numbers)(*values)
        return _grads([output], values, None, True, strict, "hessian")

    blocks = jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return blocks if as_tuple else blocks[0]


def _hessian_product(
    multiply: Callable[..., tuple[Any, ...]],
    func: Callable[..., Any],
    inputs: Any,
    v: Any,
    create_graph: bool,
    strict: bool,
    function: str,
) -> tuple[Any, Any]:
    """Return the value and the product of the Jacobian of the gradient with a vector, as `multiply` makes it."""
    tensors, as_tuple = _tuple_of(inputs, "input", function)
    direction = _direction(v, tensors, "input", function)
    leaves = _leaves(tensors, create_graph)
    output = _scalar(*_run(func, leaves, function), function)
    gradients = _grads([output], leaves, None, True, strict, function)
    products = multiply(gradients, leaves, direction, create_graph, strict, function)
    return _finished([output], False, create_graph), _finished(products, as_tuple, create_graph)


@outside_inference
def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the value of a function of one element and the product of a vector with its Hessian.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As of `vjp`.
    v : Tensor or tuple of Tensor, optional
        The vector, like the inputs; may be left out for a single input of one element.

    Examples
    --------
    >>> import tt
    >>> tt.autograd.functional.vhp(lambda x: (x ** 3).sum(), tt.tensor([1.0, 2.0]), tt.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product(_grads, func, inputs, v, create_graph, strict, "vhp")


@outside_inference
def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the value of a function of one element and the product of its Hessian with a vector.

    The Hessian is symmetric, so that `vhp`, which is faster, has the same result wherever the second derivatives are
    continuous.

    Parameters
    ----------
    func, inputs, v, create_graph, strict
        As of `vhp`.

    Examples
    --------
    >>> import tt
    >>> tt.autograd.functional.hvp(lambda x: (x ** 3).sum(), tt.tensor([1.0, 2.0]), tt.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product(_jvp, func, inputs, v, create_graph, strict, "hvp")
