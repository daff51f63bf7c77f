"""`tt.autograd.backward` and `tt.autograd.grad`: the arguments of a backward pass and their errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar, overload

from tt.core.library import (
    NOT_HANDLED,
    Size,
    Tensor,
    TensorBase,
    call_overrides,
    errors,
    flat,
    is_tensor_like,
    listening,
    mark_overridable,
    ops,
    unseen,
    warn_user,
)
from tt.plugins.autograd.backward import engine
from tt.plugins.autograd.record.edges import GradientEdge
from tt.plugins.autograd.record.graph import STATE
from tt.plugins.autograd.record.views import edge
from tt.plugins.autograd.transforms.duals import are_wrapped, gradients_of_duals, primals
from tt.plugins.autograd.transforms.levels import BIT

__all__ = ["backward", "grad"]

Key = TypeVar("Key")
Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]


_SINGLE: Final = (TensorBase, GradientEdge)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    # What overrides functions stands for one tensor, even if it can be iterated.
    single = value is None or isinstance(value, _SINGLE) or is_tensor_like(value)
    return (value,) if single else tuple(value)


def _requires_grad(tensor: Any) -> bool:
    return bool(tensor._keys & STATE.bit)


def _initial(
    outputs: Sequence[Any], gradients: Sequence[Any], batched: bool = False
) -> tuple[list[Any], list[Any]]:
    """Return the roots of a pass and their gradients, ones where a scalar's is left out."""
    roots, initial = [], []
    if len(outputs) != len(gradients):
        raise errors.GradientError(
            f"got {len(outputs)} tensors and {len(gradients)} gradients; there must be one gradient for each tensor"
        )
    for position, (output, gradient) in enumerate(zip(outputs, gradients, strict=True)):
        if isinstance(output, GradientEdge):
            node, number = output.node, output.output_nr
            if gradient is None:
                gradient = _one_at_edge(node.shape_of(number), node.spec_of(number))
            else:
                _check_gradient(node.shape_of(number), node.spec_of(number).dtype, gradient, position)
            roots.append((node, number))
            initial.append(gradient)
            continue
        if not isinstance(output, TensorBase):
            raise errors.ArgumentError(
                "backward", f"element {position} of tensors must be a Tensor, not {errors.describe(output)}"
            )
        if not _requires_grad(output):
            raise errors.GradientError(
                f"tensor {position} has no history to differentiate: nothing that it came from requires a gradient"
            )
        if gradient is None:
            gradient = _one(output)
        else:
            _check_gradient(output.shape, output.dtype, gradient, position)
        roots.append(edge(output))
        initial.append(gradient)
    return roots, initial


def _one(output: Any) -> Any:
    """Return the gradient with which a pass from a scalar starts."""
    shape, spec = output._handle.shape, output._spec
    # Nearly all passes start from a real scalar, which needs no further check.
    if shape != () or spec.dtype.is_complex:
        _check_scalar(shape, spec)
    return ops.ones_like(output)


def _one_at_edge(shape: Sequence[int], spec: Any) -> Any:
    """Return the gradient with which a pass from the place of a scalar starts."""
    _check_scalar(shape, spec)
    return ops.ones(shape, dtype=spec.dtype, device=spec.device)


def _check_scalar(shape: Sequence[int], spec: Any) -> None:
    if math.prod(shape) != 1:
        raise errors.GradientError(
            f"an output of shape {list(shape)} needs a gradient to start from; only one of one element "
            "starts with 1"
        )
    if spec.dtype.is_complex:
        raise errors.GradientError(
            f"an output of {spec.dtype} needs a gradient to start from; only a real one starts with 1"
        )


def _check_gradient(shape: Sequence[int], dtype: Any, gradient: Tensor, place: int) -> None:
    if not isinstance(gradient, TensorBase):
        raise errors.ArgumentError(
            "backward", f"a gradient is a tensor or None, not {errors.describe(gradient)}"
        )
    if tuple(gradient.shape) != tuple(shape):
        raise errors.GradientError(
            f"Mismatch in shape: grad_output[{place}] has a shape of {gradient.shape} and output[{place}] has a "
            f"shape of {Size(shape)}."
        )
    if gradient.dtype.is_complex != dtype.is_complex:
        raise errors.GradientError(
            f"gradient {place} has dtype {gradient.dtype}, and its output {dtype}: both are complex, or neither"
        )


def backward(
    tensors: Tensors,
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Tensors | None = None,
) -> None:
    """Compute the gradients of tensors with respect to the leaves and add them to their `.grad`.

    Parameters
    ----------
    tensors : Tensor or sequence of Tensor
        The differentiated tensors.
    grad_tensors : Tensor or sequence of (Tensor or None), optional
        The "vector" of the vector-Jacobian product, one for each tensor; may be left out for scalars.
    retain_graph : bool, optional
        Keep saved values, so that the graph can be used again; by default as `create_graph`.
    create_graph : bool
        Record the pass itself, so that its results can be differentiated.
    inputs : Tensor or sequence of Tensor, optional
        The only tensors that get a gradient.

    Raises
    ------
    GradientError
        When a tensor has no history, a gradient is missing or does not fit, or the graph was freed.

    Examples
    --------
    >>> import tt
    >>> x = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> tt.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    if grad_variables is not None:
        warn_user("backward(): grad_variables is deprecated: use grad_tensors", FutureWarning)
        if grad_tensors is not None:
            raise errors.GradientError(
                "backward(): grad_variables and grad_tensors are one argument; give one"
            )
        grad_tensors = grad_variables
    if not isinstance(tensors, TensorBase) or listening():
        options = {"retain_graph": retain_graph, "create_graph": create_graph, "inputs": inputs}
        args = (tensors, grad_tensors)
        if call_overrides(backward, flat((tensors,)), args, options) is not NOT_HANDLED:
            return
    with unseen():
        start_pass(tensors, grad_tensors, retain_graph, create_graph, inputs)


def start_pass(tensors: Any, grad_tensors: Any, retain_graph: Any, create_graph: bool, inputs: Any) -> None:
    """Do as `backward`, whose arguments these are, with calls that classes and function modes see."""
    if create_graph:
        warn_user(
            "Using backward() with create_graph=True: each leaf and the history of its .grad hold one another, so "
            "their memory is only freed by the garbage collector\n"
            "  try: tt.autograd.grad(..., create_graph=True), or .grad = None once it was used"
        )
    if (
        grad_tensors is None
        and inputs is None
        and isinstance(tensors, TensorBase)
        # It requires a gradient and no transform has wrapped it.
        and tensors._keys & (STATE.bit | BIT) == STATE.bit
    ):
        # Most passes start from one loss; the general path would be a tenth of a small training step.
        keep = create_graph if retain_graph is None else retain_graph
        engine.run([edge(tensors)], [_one(tensors)], bool(keep), bool(create_graph), None, False)
        return
    # Once: `model.parameters()` is a generator.
    outputs = _as_tuple(tensors)
    grad_tensors = None if grad_tensors is None else _as_tuple(grad_tensors)
    inputs = None if inputs is None else _as_tuple(inputs)
    if (
        are_wrapped(outputs)
        or (grad_tensors is not None and are_wrapped(grad_tensors))
        or (inputs is not None and are_wrapped(inputs))
    ):
        # Tangents are not part of .grad.
        outputs = tuple(primals(outputs))
        grad_tensors = None if grad_tensors is None else tuple(primals(grad_tensors))
        inputs = None if inputs is None else tuple(primals(inputs))
    if not outputs:
        return  # nothing to differentiate, as in PyTorch
    gradients = (None,) * len(outputs) if grad_tensors is None else grad_tensors
    captures = None
    if inputs is not None:
        if not inputs:
            raise errors.GradientError("backward(): inputs is empty; leave it out to reach all leaves")
        captures = _places(inputs, "backward")
    roots, initial = _initial(outputs, gradients)
    # The engine is to hold the gradients alone: see Note [Who owns a gradient] of `engine`.
    del gradients, grad_tensors, outputs, tensors
    keep = create_graph if retain_graph is None else retain_graph
    if captures is not None:
        # As in PyTorch, `inputs` may be tensors that are no leaves; these get a `.grad`, too.
        for tensor in inputs:
            if isinstance(tensor, Tensor):
                tensor.retain_grad()
    engine.run(roots, initial, bool(keep), bool(create_graph), captures, captures is not None)


def _places(inputs: Sequence[Any], function: str) -> list[Any]:
    for position, tensor in enumerate(inputs):
        if isinstance(tensor, GradientEdge):
            continue
        if not isinstance(tensor, TensorBase):
            raise errors.ArgumentError(
                function, f"element {position} of inputs must be a Tensor, not {errors.describe(tensor)}"
            )
        if not _requires_grad(tensor):
            raise errors.GradientError(
                "one of the inputs does not require a gradient; call its requires_grad_() before it is used"
            )
    return [(t.node, t.output_nr) if isinstance(t, GradientEdge) else edge(t) for t in inputs]


@overload
def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = ...,
    retain_graph: bool | None = ...,
    create_graph: bool = ...,
    only_inputs: bool = ...,
    allow_unused: bool | None = ...,
    is_grads_batched: bool = ...,
    materialize_grads: bool = ...,
) -> tuple[Tensor | None, ...]: ...
@overload
def grad(
    outputs: Tensors,
    inputs: dict[Key, Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = ...,
    retain_graph: bool | None = ...,
    create_graph: bool = ...,
    only_inputs: bool = ...,
    allow_unused: bool | None = ...,
    is_grads_batched: bool = ...,
    materialize_grads: bool = ...,
) -> dict[Key, Tensor | None]: ...
def grad(
    outputs: Tensors,
    inputs: Tensors | dict[Any, Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Return the gradients of outputs with respect to inputs; no `.grad` changes.

    Parameters
    ----------
    outputs, inputs : Tensor or sequence of Tensor
        The differentiated tensors, and the variables; these may be a dict, too.
    grad_outputs : Tensor or sequence of (Tensor or None), optional
        The "vector" of the vector-Jacobian product, one for each output; may be left out for scalars.
    retain_graph : bool, optional
        Keep saved values, so that the graph can be used again; by default as `create_graph`.
    create_graph : bool
        Record the pass itself, so that its results can be differentiated.
    only_inputs : bool
        Deprecated, without effect.
    allow_unused : bool, optional
        Return None for inputs that do not reach the outputs instead of raising; by default as `materialize_grads`.
    is_grads_batched : bool
        The first dim of each of `grad_outputs` counts many vectors; the result has it too.
    materialize_grads : bool
        Return zeros instead of None.

    Returns
    -------
    tuple of (Tensor or None)
        One for each input; a dict of them if `inputs` is a dict.

    Raises
    ------
    GradientError
        As `backward`, and when an input is not used and that is not allowed.

    Examples
    --------
    >>> import tt
    >>> x = tt.tensor(3.0, requires_grad=True)
    >>> (first,) = tt.autograd.grad(x ** 3, x, create_graph=True)
    >>> (second,) = tt.autograd.grad(first, x)
    >>> first.item(), second.item()
    (27.0, 18.0)
    """
    if not only_inputs:
        warn_user(
            "grad(): only_inputs is deprecated and has no effect: only inputs get gradients\n"
            "  try: tt.autograd.backward, for those of all leaves",
            FutureWarning,
        )
        only_inputs = True
    if isinstance(inputs, Mapping):
        if type(inputs) is not dict:
            raise errors.ArgumentError(
                "grad", f"argument 'inputs' must be a dict, of all mappings, not {type(inputs).__name__}"
            )
        options = (retain_graph, create_graph, only_inputs, allow_unused, is_grads_batched, materialize_grads)
        return dict(zip(inputs, grad(outputs, tuple(inputs.values()), grad_outputs, *options), strict=True))
    # Once: `model.parameters()` is a generator.
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    if listening() or not all(isinstance(value, _SINGLE) for value in (*outputs, *inputs)):
        result = call_overrides(
            grad,
            (*outputs, *inputs),
            (outputs, inputs),
            {
                "grad_outputs": grad_outputs,
                "retain_graph": retain_graph,
                "create_graph": create_graph,
                "only_inputs": only_inputs,
                "allow_unused": allow_unused,
                "is_grads_batched": is_grads_batched,
                "materialize_grads": materialize_grads,
            },
        )
        if result is not NOT_HANDLED:
            return result
    grad_outputs = None if grad_outputs is None else _as_tuple(grad_outputs)
    with unseen():
        # Vectors wrapped by levels pass through the formulas like other tensors, so that Jacobians can map over them.
        if are_wrapped((*outputs, *inputs)):
            return _grad_of_duals(
                outputs,
                inputs,
                _as_tuple(grad_outputs),
                create_graph,
                bool(allow_unused or materialize_grads),
                materialize_grads,
            )
        return _grad(
            outputs,
            inputs,
            grad_outputs,
            retain_graph,
            create_graph,
            allow_unused,
            is_grads_batched,
            materialize_grads,
        )


def _grad(
    results: tuple[Any, ...],
    listed: tuple[Any, ...],
    grad_outputs: tuple[Any, ...] | None,
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool | None,
    is_grads_batched: bool,
    materialize_grads: bool,
) -> tuple[Tensor | None, ...]:
    if not listed:
        raise errors.GradientError("grad(): inputs is empty: there is nothing to differentiate by")
    if allow_unused is None:
        allow_unused = materialize_grads
    elif materialize_grads and not allow_unused:
        raise errors.ValueRangeError(
            "grad(): Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    gradients = (None,) * len(results) if grad_outputs is None else grad_outputs
    keep = bool(create_graph if retain_graph is None else retain_graph)
    captures = _places(listed, "grad")
    if is_grads_batched:
        grads = _batched(results, captures, gradients, keep, create_graph)
    else:
        roots, initial = _initial(results, gradients)
        grads = engine.run(roots, initial, keep, bool(create_graph), captures, False)
    return tuple(_checked(grads, listed, allow_unused, materialize_grads, create_graph))


def _grad_of_duals(
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    gradients: Sequence[Any],
    create_graph: bool,
    allow_unused: bool,
    materialize: bool,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of tensors with tangents; see Note [Gradients of tensors with tangents]."""
    bare = primals(outputs)
    _places(primals(inputs), "grad")
    # `_as_tuple(None)` is `(None,)`, which means no gradient for any number of outputs.
    provided = (None,) * len(outputs) if gradients == (None,) else gradients
    # For its checks alone: the pass below starts from tensors that are still wrapped.
    _initial(bare, primals(provided))
    cotangents = [ops.ones_like(b) if g is None else g for b, g in zip(bare, provided, strict=True)]
    grads = gradients_of_duals(outputs, inputs, cotangents, create_graph)
    return tuple(_checked(grads, primals(inputs), allow_unused, materialize, create_graph))


def _batched(
    outputs: Sequence[Any], captures: list[Any], gradients: Sequence[Any], keep: bool, create_graph: bool
) -> list[Any]:
    """Run one pass for all vectors in the first dim of the gradients."""
    counts = {int(g.shape[0]) for g in gradients if g is not None}
    if len(counts) != 1:
        raise errors.GradientError(
            f"the first dim of all grad_outputs must be the same number of vectors, found {sorted(counts)}"
        )
    from tt.plugins.autograd.transforms.functional import leave
    from tt.plugins.autograd.transforms.levels import batched, running

    count = counts.pop()
    with running(count) as level:
        wrapped = [None if g is None else batched(g, 0, level) for g in gradients]
        roots, initial = _initial(outputs, wrapped)
        # The engine is to hold the gradients alone.
        del wrapped
        grads = engine.run(roots, initial, keep, bool(create_graph), captures, False)
        return [None if g is None else leave(g, 0, level) for g in grads]


def _checked(
    grads: list[Any], inputs: Sequence[Any], allow_unused: bool, materialize: bool, create_graph: bool
) -> list[Any]:
    for position, gradient in enumerate(grads):
        if gradient is None:
            if not allow_unused:
                raise errors.GradientError(
                    f"the outputs do not depend on input {position}; with allow_unused=True its gradient is None"
                )
            # An edge has no tensor whose likeness could be made, only the shape and spec that its node notes.
            if materialize and isinstance(inputs[position], GradientEdge):
                node, number = inputs[position][:2]
                spec = node.spec_of(number)
                grads[position] = ops.zeros(node.shape_of(number), dtype=spec.dtype, device=spec.device)
            elif materialize:
                grads[position] = ops.zeros_like(inputs[position].detach())
            # What is differentiated again may be a zero, too: it is a leaf then that nothing reaches.
            if create_graph and grads[position] is not None:
                grads[position].requires_grad_()
    return grads


for _function in (backward, grad):
    mark_overridable(_function)
