"""Functions that PyTorch keeps for its own modules and that programs call all the same, by their names there."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import tt
from tt.errors import ShapeError, ValueRangeError
from tt.library import ops

__all__ = [
    "_chunk_cat",
    "_safe_softmax",
    "_softmax_backward_data",
    "_unsafe_masked_index",
    "_unsafe_masked_index_put_accumulate",
]


# --- softmax -----------------------------------------------------------------------------------------------------


def _safe_softmax(self: tt.Tensor, dim: int, dtype: tt.dtype | None = None) -> tt.Tensor:
    """Return the softmax along a dimension, and zeros where all elements are minus infinity.

    Parameters
    ----------
    self : Tensor
        Of any floating point dtype, or of others with `dtype`.
    dim : int
        The dimension.
    dtype : dtype, optional
        Into which the tensor is converted first.

    Examples
    --------
    >>> import tt
    >>> tt._safe_softmax(tt.tensor([[0.0, 0.0], [-tt.inf, -tt.inf]]), 1)
    tensor([[0.5000, 0.5000],
            [0.0000, 0.0000]])
    """
    x = self if dtype is None else self.to(dtype)
    hidden = (x == -tt.inf).all(dim, keepdim=True)
    # Zeros take part instead of infinities, so that gradients stay finite.
    return tt.softmax(x.masked_fill(hidden, 0), dim).masked_fill(hidden, 0)


def _softmax_backward_data(
    grad_output: tt.Tensor, output: tt.Tensor, dim: int, input_dtype: tt.dtype
) -> tt.Tensor:
    """Return the gradient of a softmax from its result.

    Parameters
    ----------
    grad_output, output : Tensor
        The gradient of the result, and the result.
    dim : int
        The dimension of the softmax.
    input_dtype : dtype
        Of the argument of the softmax, and of its gradient.

    Examples
    --------
    >>> import tt
    >>> tt._softmax_backward_data(tt.tensor([1.0, 0.0]), tt.tensor([0.5, 0.5]), 0, tt.float32)
    tensor([ 0.2500, -0.2500])
    """
    return ops._softmax_backward(grad_output, output, dim).to(input_dtype)


# --- places ------------------------------------------------------------------------------------------------------


def _clamped(self: tt.Tensor, indices: Sequence[Any]) -> tuple[Any, ...]:
    """Return indices that lie in the tensor."""
    return tuple(
        slice(None) if index is None else index.clamp(-size, size - 1)
        for index, size in zip(indices, self.shape, strict=False)
    )


def _unsafe_masked_index(self: tt.Tensor, mask: tt.Tensor, indices: Sequence[Any], fill: float) -> tt.Tensor:
    """Return the elements at indices where a mask is true, and a number elsewhere, where indices may be anything.

    Parameters
    ----------
    self : Tensor
        The tensor that is read.
    mask : Tensor
        Of bool; broadcasts with the result.
    indices : sequence of Tensor or None
        As of advanced indexing, one for each of the leading dimensions.
    fill : number
        What stands where the mask is false.

    Examples
    --------
    >>> import tt
    >>> tt._unsafe_masked_index(tt.tensor([1.0, 2.0]), tt.tensor([True, False]), [tt.tensor([1, 9])], -1)
    tensor([ 2., -1.])
    """
    if not self.numel():
        return self.new_full(
            tt.broadcast_shapes(*(i.shape for i in indices if i is not None), mask.shape), fill
        )
    # Any index is brought into the tensor first; what it reads there is hidden by the mask.
    return self[_clamped(self, indices)].masked_fill(~mask, fill)


def _unsafe_masked_index_put_accumulate(
    self: tt.Tensor, mask: tt.Tensor, indices: Sequence[Any], values: tt.Tensor
) -> tt.Tensor:
    """Return a copy with values added at indices where a mask is true, where indices may be anything elsewhere.

    Parameters
    ----------
    self : Tensor
        The tensor to which the values are added.
    mask : Tensor
        Of bool; broadcasts with the values.
    indices : sequence of Tensor or None
        As of advanced indexing.
    values : Tensor
        The values to add.

    Examples
    --------
    >>> import tt
    >>> mask, index = tt.tensor([True, False]), [tt.tensor([1, 9])]
    >>> tt._unsafe_masked_index_put_accumulate(tt.zeros(2), mask, index, tt.ones(2))
    tensor([0., 1.])
    """
    if not self.numel():
        return self.clone()
    expanded = [
        None if index is None else index.clamp(-size, size - 1)
        for index, size in zip(indices, self.shape, strict=False)
    ]
    return ops.index_put(self, expanded, values.masked_fill(~mask, 0), True)


# --- pieces ------------------------------------------------------------------------------------------------------


def _chunk_cat(
    tensors: Sequence[tt.Tensor], dim: int, num_chunks: int, *, out: tt.Tensor | None = None
) -> tt.Tensor:
    """Cut each tensor into chunks of one size, padded with zeros, and join the first, the second, ... of all.

    Parameters
    ----------
    tensors : sequence of Tensor
        With the same sizes before `dim`, of one dtype.
    dim : int
        The dimension that is cut.
    num_chunks : int
        How many chunks.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        Of the sizes before `dim`, `num_chunks`, and all elements of a chunk of each tensor.

    Raises
    ------
    ShapeError
        For no tensors, or sizes before `dim` that differ.
    ValueRangeError
        If there is less than one chunk.

    Examples
    --------
    >>> import tt
    >>> tt._chunk_cat([tt.tensor([1, 2, 3]), tt.tensor([7])], 0, 2)
    tensor([[1, 2, 7],
            [3, 0, 0]])
    """
    if num_chunks < 1:
        raise ValueRangeError(f"_chunk_cat(): num_chunks is at least 1, not {num_chunks}")
    if not tensors:
        raise ShapeError("_chunk_cat(): expects at least one tensor")
    axis = dim + tensors[0].ndim if dim < 0 else dim
    if any(
        not 0 <= axis < t.ndim or t.shape[:axis] != tensors[0].shape[:axis] or not t.numel() for t in tensors
    ):
        raise ShapeError(
            f"_chunk_cat(): tensors have elements, dimension {dim}, and the same sizes before it, not the shapes "
            f"{[list(t.shape) for t in tensors]}"
        )
    parts = []
    for tensor in tensors:
        shape = tuple(tensor.shape)
        # Rounded up, as `chunk` does; the last chunk is padded.
        steps = -(-shape[axis] // num_chunks)
        missing = steps * num_chunks - shape[axis]
        whole = ops.cat([tensor, tensor.new_zeros((*shape[:axis], missing, *shape[axis + 1 :]))], axis)
        parts.append(whole.reshape(*shape[:axis], num_chunks, steps * prod(shape[axis + 1 :])))
    return ops.cat(parts, axis + 1, out=out) if out is not None else ops.cat(parts, axis + 1)
