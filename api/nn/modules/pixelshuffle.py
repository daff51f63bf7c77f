"""Channels as pixels, and pixels as channels."""

from __future__ import annotations

import tt
import tt.nn.functional as F
from tt.nn.modules.module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Turn r * r channels into r * r pixels: (..., C * r * r, H, W) to (..., C, H * r, W * r).

    Source: Shi et al., Real-Time Single Image and Video Super-Resolution, 2016.

    Examples
    --------
    >>> import tt
    >>> tt.nn.PixelShuffle(2)(tt.arange(4.0).reshape(4, 1, 1))
    tensor([[[0., 1.],
             [2., 3.]]])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the larger image."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """Return the factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Turn r * r pixels into r * r channels: (..., C, H * r, W * r) to (..., C * r * r, H, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.PixelUnshuffle(2)(tt.arange(4.0).reshape(1, 2, 2)).shape
    tt.Size([4, 1, 1])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the smaller image."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """Return the factor."""
        return f"downscale_factor={self.downscale_factor}"
