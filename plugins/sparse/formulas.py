"""Gradients of the sparse operators, in the form of PyTorch's custom operators.

The gradient of a sparse tensor may be dense: what made the tensor takes the elements that it stores.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from tt.core.library import ops

__all__ = ["formulas"]


class SparseFormulas:
    """The table that the layer "autograd" takes: operator -> (backward, setup_context)."""

    layer = "autograd"

    def __init__(self) -> None:
        self.formulas: dict[str, tuple[Callable[..., Any], Callable[..., None] | None]] = {}


def _dense(gradient: Any) -> Any:
    return gradient.to_dense()


def _save_indices(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(inputs[0])


def _of_coo(ctx: Any, gradient: Any) -> Any:
    """The elements of the gradient at the coordinates."""
    (indices,) = ctx.saved_tensors
    return None, _dense(gradient)[tuple(ops.unbind(indices, 0))], None, None


def _save_pattern(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(inputs[0], inputs[1])
    ctx.values_shape, ctx.size, ctx.layout = tuple(inputs[2].shape), tuple(inputs[3]), inputs[4]


def _of_compressed(ctx: Any, gradient: Any) -> Any:
    """The elements of the gradient at the places of the pattern, in the order of the values."""
    compressed, plain = ctx.saved_tensors
    numbers = ops.arange(prod(ctx.values_shape), device=gradient.device).reshape(ctx.values_shape)
    places = ops.sparse.compressed(compressed, plain, numbers, ctx.size, ctx.layout).to_sparse()
    elements = _dense(gradient)[tuple(ops.unbind(places._indices(), 0))]
    flat = ops.zeros(prod(ctx.values_shape), dtype=gradient.dtype, device=gradient.device)
    flat[places._values().reshape(-1)] = elements.reshape(-1)
    return None, None, flat.reshape(ctx.values_shape), None, None


def _save_self(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.indices, ctx.shape = inputs[0]._indices(), inputs[0].shape


def _of_values(ctx: Any, gradient: Any) -> Any:
    """A tensor of the gradient's elements at the coordinates."""
    return ops.sparse.coo(ctx.indices, gradient, tuple(ctx.shape), False)


def _save_layout(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.strided = inputs[0].layout.name == "strided"


def _of_conversion(ctx: Any, gradient: Any) -> Any:
    """The gradient in the layout of what was converted, or in its own."""
    return (_dense(gradient) if ctx.strided else gradient), None, None, None, None


formulas = SparseFormulas()
formulas.formulas["sparse::coo"] = (_of_coo, _save_indices)
formulas.formulas["sparse::compressed"] = (_of_compressed, _save_pattern)
formulas.formulas["sparse::to_dense"] = (lambda ctx, gradient: (gradient, None), None)
formulas.formulas["sparse::to_layout"] = (_of_conversion, _save_layout)
formulas.formulas["sparse::coalesce"] = (lambda ctx, gradient: gradient, None)
formulas.formulas["sparse::values"] = (_of_values, _save_self)
