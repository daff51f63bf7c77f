"""Fractional pooling: the largest element of windows whose places are drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tt
import tt.nn.functional as F
from tt.nn.modules.module import Module
from tt.nn.modules.sizes import tuple_of

__all__ = ["FractionalMaxPool2d", "FractionalMaxPool3d"]

Size = int | Sequence[int]


class _FractionalMaxPool(Module):
    _dims: int

    def __init__(
        self,
        kernel_size: Size,
        output_size: Size | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: tt.Tensor | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = tuple_of(kernel_size, self._dims)
        if any(isinstance(size, int) and size <= 0 for size in self.kernel_size):
            raise tt.errors.ValueRangeError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.return_indices = return_indices
        # A buffer, so that the samples move with the module.
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else tuple_of(output_size, self._dims)
        self.output_ratio = None if output_ratio is None else tuple_of(output_ratio, self._dims)
        if self.output_size is None and self.output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if self.output_size is not None and self.output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if not all(isinstance(ratio, int | float) for ratio in self.output_ratio or ()):
            raise tt.errors.ArgumentError(name, f"output_ratio must be a number or {self._dims} of them")
        if self.output_ratio is not None and len(self.output_ratio) != self._dims:
            raise tt.errors.ValueRangeError(
                f"output_ratio must be a number or {self._dims} (got {output_ratio})"
            )
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def _arguments(self) -> tuple[Any, ...]:
        return (
            self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest element of windows whose places are drawn: (N, C, H, W) or (C, H, W) to (..., H_out, W_out).

    The size of the result is `output_size`, or `output_ratio` times the input's.  Source: Graham, Fractional
    Max-Pooling, 2014.

    Examples
    --------
    >>> import tt
    >>> tt.nn.FractionalMaxPool2d(2, output_size=3)(tt.ones(1, 5, 5)).shape
    tt.Size([1, 3, 3])
    """

    _dims = 2

    def forward(self, input: tt.Tensor) -> Any:
        """Return the largest element of each window, and with `return_indices` its place."""
        return F.fractional_max_pool2d(input, *self._arguments())


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest element of windows whose places are drawn: (N, C, D, H, W) or (C, D, H, W).

    The size of the result is `output_size`, or `output_ratio` times the input's.  Source: Graham, Fractional
    Max-Pooling, 2014.

    Examples
    --------
    >>> import tt
    >>> tt.nn.FractionalMaxPool3d(2, output_size=3)(tt.ones(1, 5, 5, 5)).shape
    tt.Size([1, 3, 3, 3])
    """

    _dims = 3

    def forward(self, input: tt.Tensor) -> Any:
        """Return the largest element of each window, and with `return_indices` its place."""
        return F.fractional_max_pool3d(input, *self._arguments())
