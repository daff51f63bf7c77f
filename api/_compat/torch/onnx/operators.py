"""torch.onnx.operators: shapes as tensors, in a form that exporters understand."""

from __future__ import annotations

import tt

__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]


def shape_as_tensor(x: tt.Tensor) -> tt.Tensor:
    """Return the shape of a tensor as an int64 tensor."""
    return tt._shape_as_tensor(x)


def reshape_from_tensor_shape(x: tt.Tensor, shape: tt.Tensor) -> tt.Tensor:
    """Return a tensor in the shape that a tensor of integers says."""
    return x.reshape(shape.tolist())
