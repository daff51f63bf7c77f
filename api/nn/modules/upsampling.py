"""Larger images by repeated or interpolated pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tt
import tt.nn.functional as F
from tt.nn.modules.module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resize the last dimensions: (N, C, W), (N, C, H, W) or (N, C, D, H, W), by size or by factor.

    Parameters
    ----------
    size : int or tuple of int, optional
        The size of the result.
    scale_factor : float or tuple of float, optional
        How many times as large as the input the result is; either this or `size`.
    mode : str
        "nearest", "linear", "bilinear", "bicubic", "trilinear", "nearest-exact" or "area".
    align_corners : bool, optional
        Whether the corners of input and result lie on each other, or the edges of their pixels.
    recompute_scale_factor : bool, optional
        Whether places are computed from the sizes and not from the factor.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Upsample(scale_factor=2)(tt.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        self.scale_factor: Any
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            # PyTorch keeps factors as floats, which shows in the repr.
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the resized input."""
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        # As in PyTorch, older pickles meant True, which was the only way.
        state.setdefault("recompute_scale_factor", True)
        super().__setstate__(state)

    def extra_repr(self) -> str:
        """Return the size or the factor, and the mode."""
        size = f"scale_factor={self.scale_factor}" if self.scale_factor is not None else f"size={self.size}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resize images with the nearest pixels: (N, C, H, W); `Upsample` takes its place.

    Examples
    --------
    >>> import tt
    >>> tt.nn.UpsamplingNearest2d(scale_factor=2)(tt.ones(1, 1, 1, 1)).shape
    tt.Size([1, 1, 2, 2])
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resize images linearly in both dimensions, corner on corner: (N, C, H, W); `Upsample` takes its place.

    Examples
    --------
    >>> import tt
    >>> tt.nn.UpsamplingBilinear2d(size=(1, 3))(tt.tensor([[[[0.0, 1.0]]]]))
    tensor([[[[0.0000, 0.5000, 1.0000]]]])
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
