"""What the operators check of their arguments before compiled code reads their memory."""

from __future__ import annotations

import tt
from tt import Tensor

__all__ = ["as_float32", "check_regions", "require", "same_dtype"]


def require(condition: bool, operator: str, problem: str) -> None:
    """Raise unless a condition holds.

    Raises
    ------
    ShapeError
        With the name of the operator and the problem.
    """
    if not condition:
        raise tt.errors.ShapeError(f"torchvision::{operator}(): {problem}")


def same_dtype(operator: str, **tensors: Tensor) -> None:
    """Raise unless all tensors have the dtype of the first.

    Raises
    ------
    DtypeError
        With the two that differ.
    """
    first, expected = next((name, tensor.dtype) for name, tensor in tensors.items())
    for name, tensor in tensors.items():
        if tensor.dtype != expected:
            raise tt.errors.DtypeError(
                f"torchvision::{operator}(): expected {name} to have the same type as {first}, "
                f"but {name} is {tensor.dtype} and {first} is {expected}"
            )


def check_regions(operator: str, name: str, images: Tensor, rois: Tensor) -> None:
    """Raise unless `rois` are regions of shape (n, 5), and `images` of shape (n, c, h, w) have the same dtype.

    Raises
    ------
    ShapeError, DtypeError
        With what is wrong.
    """
    require(images.ndim == 4, operator, f"{name} should be a 4d tensor, got {images.ndim}D")
    shape = list(rois.shape)
    require(len(shape) == 2 and shape[1] == 5, operator, f"rois must have shape as Tensor[K, 5], got {shape}")
    same_dtype(operator, **{name: images, "rois": rois})


def as_float32(tensor: Tensor) -> Tensor:
    """Return a contiguous tensor of float32 or float64: half precision is computed in float32."""
    return (tensor.float() if tensor.dtype in (tt.float16, tt.bfloat16) else tensor).contiguous()
