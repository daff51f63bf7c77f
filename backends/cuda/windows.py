"""Shared by convolution and pooling: windows over the last dimensions, in the kernels' format."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["each", "reach", "three"]


def each(value: int | Sequence[int], count: int) -> tuple[int, ...]:
    """Return a number for each spatial dimension."""
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * count if len(values) == 1 else values


def three(values: Sequence[int], missing: int) -> tuple[int, ...]:
    """Return numbers for three dimensions: fewer are the last ones."""
    return (missing,) * (3 - len(values)) + tuple(values)


def reach(size: int, pad: int, width: int, gap: int, hop: int) -> int:
    """Return how many windows fit into a dimension."""
    return (size + 2 * pad - gap * (width - 1) - 1) // hop + 1
