"""Places in the graph, and versions, as objects that a program can hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tt.core.library import Tensor, TensorBase, errors
from tt.plugins.autograd.record.graph import STATE, Node
from tt.plugins.autograd.record.views import edge

__all__ = ["GradientEdge", "get_gradient_edge", "increment_version"]


class GradientEdge(NamedTuple):
    """The place of a tensor in the graph; `grad` and `backward` accept it instead of the tensor.

    Attributes
    ----------
    node : Node
        What computed the tensor.
    output_nr : int
        Which result of the node it is.
    ownership_token : None
        PyTorch keeps the graph alive by it; here the node does.
    """

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the place of a tensor in the graph, which outlives the tensor.

    Raises
    ------
    GradientError
        When the tensor does not require a gradient.

    Examples
    --------
    >>> import tt
    >>> x = tt.ones(2, requires_grad=True)
    >>> y = x * 2
    >>> place = tt.autograd.graph.get_gradient_edge(y)
    >>> place.node.name(), place.output_nr
    ('MulBackward0', 0)
    >>> z = y.sum()
    >>> del y
    >>> tt.autograd.grad(z, place)
    (tensor([1., 1.]),)
    """
    if not tensor._keys & STATE.bit:
        raise errors.GradientError("a tensor that does not require a gradient has no place in the graph")
    node, number = edge(tensor)
    return GradientEdge(node.shown(), number)


def increment_version(tensor: Any) -> None:
    """Note that the memory of a tensor, or of each of several, was changed without tt.

    Examples
    --------
    >>> import tt
    >>> x = tt.zeros(2)
    >>> x.numpy()[0] = 1
    >>> tt.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    tensors: Iterable[Any] = (tensor,) if isinstance(tensor, TensorBase) else tensor
    for each in tensors:
        if not isinstance(each, TensorBase):
            raise errors.ArgumentError("increment_version", f"takes tensors, not {errors.describe(each)}")
        # Of the storage, so that all views of the memory count as changed.
        each._ensure_storage().version += 1
