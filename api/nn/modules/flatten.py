"""Dimensions merged into one, and one divided into several."""

from __future__ import annotations

from collections.abc import Sequence

import tt
from tt.nn.modules.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Merge the dimensions from `start_dim` to `end_dim`: (N, ...) to (N, product), by default.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Flatten()(tt.zeros(2, 3, 4)).shape
    tt.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the input with the dimensions merged."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Divide a dimension into several, one of whose sizes may be -1.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Unflatten(1, (3, 4))(tt.zeros(2, 12)).shape
    tt.Size([2, 3, 4])
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError(f"Unflatten: dim must be an int, but found type {type(dim).__name__}")
        if not isinstance(unflattened_size, tuple | list):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for index, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {index}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the input with the dimension divided."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
