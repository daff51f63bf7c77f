"""`backward` and `autograd.grad` of tensors with tangents: the gradients have tangents, too.

Note [Gradients of tensors with tangents]
-----------------------------------------
The graph is below all wrappers.  A tensor with a tangent is opened into a pair, the passes run from both parts, and
the product rule combines the gradients; see Note [Opening] in `unwrap`.  `backward` adds the value to `.grad` and
omits the tangent.  Tensors wrapped by `vmap` are refused, because all examples share one graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import TensorBase, errors
from tt.plugins.autograd.transforms.levels import BIT, Dual

__all__ = ["are_wrapped", "gradients_of_duals", "primal", "primals"]


def are_wrapped(values: Sequence[Any]) -> bool:
    """Return whether one of the values is a tensor that a level wraps."""
    for value in values:  # noqa: SIM110 - a generator takes twice as long, and each backward pass waits for it
        if isinstance(value, TensorBase) and value._keys & BIT:
            return True
    return False


def primal(value: Any) -> Any:
    """Return a tensor without its tangents, and other values as they are.

    Raises
    ------
    GradientError
        When `vmap` has wrapped the tensor.
    """
    while isinstance(value, TensorBase) and value._keys & BIT:
        if not isinstance(value._handle, Dual):
            raise errors.GradientError(
                "a tensor that vmap maps over has no history of its own: there is one graph for all examples\n"
                "  try: tt.func.grad or tt.func.vjp inside of vmap, or the pass outside of it"
            )
        value = value._handle.value
    return value


def primals(values: Sequence[Any]) -> list[Any]:
    """Return tensors without their tangents."""
    return [primal(value) for value in values]


def gradients_of_duals(
    outputs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any], create_graph: bool
) -> list[Any]:
    """Return the gradients, with tangents, of outputs with respect to inputs; None if there are none.

    Parameters
    ----------
    outputs : sequence of Tensor
        Each requires a gradient.
    inputs : sequence of Tensor
        Each requires a gradient.
    cotangents : sequence of Tensor
        One for each output, of its shape.
    create_graph : bool
        Whether the passes are recorded.
    """
    bare = primals(inputs)
    # For the error alone.
    for value in (*outputs, *cotangents):
        primal(value)
    from tt.plugins.autograd.transforms.unwrap import pull_duals

    return pull_duals(outputs, bare, cotangents, create_graph)
