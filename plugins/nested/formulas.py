"""Gradients: three formulas of its own operators; all others are differentiated by their parts, the values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import ops
from tt.plugins.nested.parts import jagged
from tt.plugins.nested.pointwise import function_of_others
from tt.plugins.nested.raggedness import RaggedSize
from tt.plugins.nested.tables import functions

__all__ = ["NestedFormulas", "PartsOfNested", "formulas", "parts"]


def _values_of(g: Any) -> Any:
    return ops.nested.values(g) if g.layout.name == "jagged" else g


def _with_rows_of(shape: Sequence[int], g: Any) -> Any:
    """Return values as a jagged tensor with the rows of a shape."""
    dim = next(i for i, size in enumerate(shape) if isinstance(size, RaggedSize))
    size: Any = shape[dim]
    return jagged(g, size.raggedness, dim)


class NestedFormulas:
    """The formulas of the operators that take jagged tensors apart and put them together."""

    layer = "autograd"

    def __init__(self) -> None:
        self.formulas: dict[str, dict[str, Callable[..., Any]]] = {
            "nested::jagged": {"values": _values_of},
            "nested::jagged_view": {"values": _values_of},
            "nested::with_values": {"values": _values_of},
            # Of the shape alone: the tensor itself may be changed in place before the backward pass.
            "nested::values": {"self": lambda g, self_shape: _with_rows_of(self_shape, g)},
        }


class PartsOfNested:
    """Operators that are differentiated by their parts where a tensor is jagged: all that jagged tensors have."""

    layer = "autograd"
    layouts = ("jagged",)

    def function(self, op: str, layouts: Sequence[str]) -> Callable[..., Any] | None:
        """Return what takes the place of an operator in a call with tensors of these layouts, or None."""
        return functions().get(op) or function_of_others(op)


formulas = NestedFormulas()
parts = PartsOfNested()
