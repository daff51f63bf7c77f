"""Shape rules of views and rearrangements of one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tt.core.errors import DimensionCountError, ShapeError
from tt.core.shapes.geometry import (
    Described,
    check_size,
    infer_size,
    view_strides,
    wrap_dim,
    wrap_dims,
)
from tt.core.shapes.registry import Result, RuleTable

rule = RuleTable()

Shape = tuple[int, ...]


def view(
    tensor: Described, shape: Sequence[int], strides: Sequence[int], offset: int | None = None
) -> Result:
    """Return a result that reads the memory of `tensor`."""
    return Result(tuple(shape), tuple(strides), tensor.offset if offset is None else offset)


# --- the same elements in another shape ------------------------------------------------------------------------


@rule("view")
def view_rule(self: Described, size: Sequence[int], *, op: str) -> Result:
    """Another shape over the same memory."""
    shape = infer_size(op, size, prod(self.shape))
    strides = view_strides(self.shape, self.strides, shape)
    if strides is None:
        raise ShapeError(
            f"{op}(): the memory of a tensor of shape {list(self.shape)} and strides {list(self.strides)} cannot be "
            f"read as {list(shape)} without a copy\n  try: .reshape(...), which copies where it must"
        )
    return view(self, shape, strides)


# --- the order of dimensions -----------------------------------------------------------------------------------


@rule("permute")
def permute(self: Described, dims: Sequence[int], *, op: str) -> Result:
    """The dimensions in another order."""
    if len(dims) != self.ndim:
        raise ShapeError(
            f"{op}(): dims must name each of the {self.ndim} dimensions once, and {list(dims)} names {len(dims)}"
        )
    order = wrap_dims(op, dims, self.ndim)
    return view(self, [self.shape[i] for i in order], [self.strides[i] for i in order])


@rule("transpose")
def transpose(self: Described, dim0: int, dim1: int, *, op: str) -> Result:
    """Two dimensions exchanged."""
    first, second = wrap_dim(op, dim0, self.ndim), wrap_dim(op, dim1, self.ndim)
    order = list(range(self.ndim))
    if order:
        order[first], order[second] = order[second], order[first]
    return view(self, [self.shape[i] for i in order], [self.strides[i] for i in order])


@rule("t")
def t(self: Described, /, *, op: str) -> Result:
    """A matrix transposed; vectors and scalars stay."""
    if self.ndim > 2:
        raise DimensionCountError(
            f"{op}(): the tensor has {self.ndim} dimensions, and at most 2 can be swapped so\n"
            f"  try: .mT or .transpose()"
        )
    return view(self, self.shape[::-1], self.strides[::-1])


# --- dimensions of size one ------------------------------------------------------------------------------------


@rule("squeeze")
def squeeze(self: Described, dim: Any = None, *, op: str) -> Result:
    """Remove dimensions of size 1: all, or those named."""
    if dim is None:
        chosen = tuple(range(self.ndim))
    else:
        dims = list(dim) if isinstance(dim, (list, tuple)) else [dim]
        chosen = wrap_dims(op, dims, self.ndim)
    kept = [i for i, size in enumerate(self.shape) if size != 1 or i not in chosen]
    return view(self, [self.shape[i] for i in kept], [self.strides[i] for i in kept])


@rule("unsqueeze")
def unsqueeze(self: Described, dim: int, *, op: str) -> Result:
    """Insert a dimension of size 1."""
    index = wrap_dim(op, dim, self.ndim + 1)
    stride = self.shape[index] * self.strides[index] if index < self.ndim else 1
    return view(
        self,
        (*self.shape[:index], 1, *self.shape[index:]),
        (*self.strides[:index], stride, *self.strides[index:]),
    )


# --- repetition ------------------------------------------------------------------------------------------------


@rule("expand")
def expand(self: Described, size: Sequence[int], *, op: str) -> Result:
    """Dimensions of size 1 (and new leading ones) repeated without a copy."""
    if len(size) < self.ndim:
        raise DimensionCountError(
            f"{op}(): the size {list(size)} has {len(size)} dimensions, fewer than the tensor's {self.ndim}, of shape "
            f"{list(self.shape)}"
        )
    lead = len(size) - self.ndim
    shape, strides = [], []
    for dim, wanted in enumerate(size):
        own = dim - lead
        if own < 0:
            if wanted < 0:
                raise ShapeError(
                    f"{op}(): dimension {dim} of {list(size)} is new, and a new dimension needs a size of its own, not "
                    f"{wanted}"
                )
            shape.append(wanted)
            strides.append(0)
            continue
        have = self.shape[own]
        wanted = have if wanted == -1 else wanted
        if (wanted != have and have != 1) or wanted < 0:
            raise ShapeError(
                f"{op}(): a tensor of shape {list(self.shape)} does not expand to {list(size)}: in dimension {dim} the "
                f"size {have} cannot become {wanted}, only a size of 1 repeats"
            )
        shape.append(wanted)
        strides.append(self.strides[own] if wanted == have else 0)
    for dim in range(lead - 1, -1, -1):
        # As PyTorch gives new dimensions: 0 where they repeat, else the step over everything behind them.
        strides[dim] = 0 if shape[dim] != 1 or dim + 1 == len(shape) else shape[dim + 1] * strides[dim + 1]
    return view(self, shape, strides)


@rule("repeat")
def repeat(self: Described, repeats: Sequence[int], *, op: str) -> Shape:
    """Every dimension repeated, as a copy."""
    if len(repeats) < self.ndim:
        raise DimensionCountError(
            f"{op}(): {len(repeats)} counts for a tensor of {self.ndim} dimensions; each dimension needs one"
        )
    counts = check_size(op, repeats)
    padded = (1,) * (len(counts) - self.ndim) + tuple(self.shape)
    return tuple(size * count for size, count in zip(padded, counts, strict=True))
