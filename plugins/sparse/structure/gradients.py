"""Gradients of structural operators: their effect on the elements of a sparse tensor, as operators of its values.

Note [Numbered elements]
------------------------
A structural operator moves elements, drops some, repeats some, and adds zeros.  To find where each goes, the operator
is applied to a tensor with the same pattern whose elements are numbered from 1: each element of the result is a
number, and 0 is a zero.  So the result has the values `[0, *values][numbers]`, which autograd differentiates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final

from tt.core.library import REGISTRY, Tensor, handle_of, ops, run_rule, to_dtype
from tt.plugins.sparse.parts import component
from tt.plugins.sparse.structure.copies import with_values

__all__ = ["PIECES", "STRUCTURE", "STRUCTURE_BESIDE_DENSE", "by_numbers"]

STRUCTURE: Final = ("cat", "flip", "reshape", "select", "slice", "squeeze", "squeeze.dim")
"""Operators of sparse tensors that are differentiated in this way."""
STRUCTURE_BESIDE_DENSE: Final = ("index", "index_select")
"""The same, with strided indices."""


def _split(self: Tensor, split_size: int, dim: int) -> list[Any]:
    return [
        ops.slice(self, dim, at, at + split_size)
        for at in range(0, max(self.shape[dim], 1), max(split_size, 1))
    ]


def _split_sizes(self: Tensor, split_size: Sequence[int], dim: int) -> list[Any]:
    ends = list(accumulate(split_size))
    return [ops.slice(self, dim, end - size, end) for size, end in zip(split_size, ends, strict=True)]


def _checked(op: str, pieces: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes pieces of arguments that the operator takes."""

    def function(self: Tensor, *args: Any) -> Any:
        run_rule(REGISTRY.operator(op).definition, (self, *args))
        return pieces(self, *args)

    return function


PIECES: Final[dict[str, Callable[..., Any]]] = {
    "split": _checked("split", _split),
    "split.sizes": _checked("split.sizes", _split_sizes),
    "unbind": _checked(
        "unbind", lambda self, dim: [ops.select(self, dim, k) for k in range(self.shape[dim])]
    ),
}
"""Operators with several results, by their parts."""


def by_numbers(op: str) -> Callable[..., Any]:
    """Return a structural operator as a function by whose parts it is differentiated; see Note [Numbered elements]."""

    def function(self: Tensor | Sequence[Tensor], *args: Any) -> Any:
        call = getattr(ops, op.partition(".")[0])
        tensors = [self] if isinstance(self, Tensor) else list(self)
        if any(tensor.layout.name == "strided" for tensor in tensors):
            # The index is sparse: without gradients, too, the call is refused.
            return call(
                ops.detach(self) if isinstance(self, Tensor) else [ops.detach(t) for t in tensors],
                *args,
            )
        # The elements of equal coordinates are one variable, their sum.
        tensors = [_coalesced(tensor) for tensor in tensors]
        # Zero is the number of elements that are not stored.
        numbered, start = [], 1
        for tensor in tensors:
            numbered.append(_numbered(tensor, start))
            start += _count(tensor)
        moved = call(numbered[0] if isinstance(self, Tensor) else numbered, *args)
        values = [ops.reshape(ops.sparse.values(tensor), (-1,)) for tensor in tensors]
        zero = ops.zeros((1,), dtype=values[0].dtype, device=values[0].device)
        elements = ops.cat([zero, *values])
        numbers = (
            moved if moved.layout.name == "strided" else component(handle_of(moved).values, moved.device)
        )
        elements_there = ops.reshape(
            ops.index_select(elements, 0, ops.reshape(numbers, (-1,))), tuple(numbers.shape)
        )
        return (
            elements_there
            if moved.layout.name == "strided"
            else ops.sparse.with_values(moved, elements_there)
        )

    return function


def _count(tensor: Tensor) -> int:
    count = 1
    for size in handle_of(tensor).values.shape:
        count *= int(size)
    return count


def _numbered(tensor: Tensor, start: int) -> Any:
    """Return a tensor of the same pattern whose elements are numbers."""
    shape = tuple(handle_of(tensor).values.shape)
    numbers = ops.arange(start, start + _count(tensor), dtype=to_dtype("int64"), device=tensor.device)
    return with_values(tensor, ops.reshape(numbers, shape))


def _coalesced(value: Tensor) -> Any:
    return value if getattr(handle_of(value), "coalesced", True) else ops.sparse.coalesce(value)
