"""Windows of images as columns, and columns as images."""

from __future__ import annotations

from collections.abc import Sequence

import tt
import tt.nn.functional as F
from tt.nn.modules.module import Module

__all__ = ["Fold", "Unfold"]

Size = int | Sequence[int]


class Fold(Module):
    """Sum columns into windows of an image: (N, C * kernel, windows) to (N, C, *output_size).

    Examples
    --------
    >>> import tt
    >>> tt.nn.Fold((1, 3), kernel_size=(1, 2))(tt.ones(1, 2, 2))
    tensor([[[[1., 2., 1.]]]])
    """

    def __init__(
        self, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the sums."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """The windows of an image as columns: (N, C, H, W) to (N, C * kernel, windows).

    Examples
    --------
    >>> import tt
    >>> tt.nn.Unfold(kernel_size=(1, 2))(tt.arange(3.0)[None, None, None])
    tensor([[[0., 1.],
             [1., 2.]]])
    """

    def __init__(self, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the columns."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )
