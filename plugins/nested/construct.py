"""Functions that make jagged tensors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from tt.core.library import Tensor, as_tensor, errors, layout_name, ops, to_dtype
from tt.plugins.nested.copies import padded
from tt.plugins.nested.parts import is_nested, jagged
from tt.plugins.nested.raggedness import Raggedness

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor",
]  # fmt: skip


def _check_layout(what: str, layout: Any) -> None:
    if layout is None or layout_name(layout) == "jagged":
        return
    if layout_name(layout) == "strided":
        raise errors.LayoutError(
            f"{what}(): tt has no nested tensors of the layout tt.strided: rows that differ in several dimensions "
            "have no operators that lists of tensors lack\n  try: layout=tt.jagged"
        )
    raise errors.LayoutError(f"{what}(): the layout of a nested tensor is tt.jagged, not {layout}")


def _ragged_of(what: str, rows: Sequence[Tensor]) -> int:
    """Return the dimension of a batch in which rows differ: the first one if they do not."""
    if not rows:
        raise errors.ShapeError(f"{what}(): Cannot construct a nested tensor from an empty tensor list")
    if not all(row.ndim for row in rows):
        raise errors.ShapeError(f"{what}(): Cannot construct a nested tensor from a list of zero-dim tensors")
    first = tuple(rows[0].shape)
    for number, row in enumerate(rows):
        if row.ndim != len(first):
            raise errors.ShapeError(
                f"{what}(): all rows must have the same number of dimensions, but row 0 has {len(first)} and row "
                f"{number} {row.ndim}"
            )
        if row.layout.name != "strided":
            raise errors.LayoutError(
                f"{what}(): rows must be strided tensors, but row {number} is {row.layout}"
            )
    differ = [d for d in range(len(first)) if any(row.shape[d] != first[d] for row in rows)]
    if len(differ) > 1:
        shapes = ", ".join(str(list(row.shape)) for row in rows[:3])
        raise errors.ShapeError(
            f"{what}(): rows of the layout tt.jagged differ in one dimension, but these differ in {len(differ)}: "
            f"shapes {shapes}{', ...' if len(rows) > 3 else ''}"
        )
    return differ[0] + 1 if differ else 1


def _joined(what: str, rows: Sequence[Tensor]) -> Tensor:
    dim = _ragged_of(what, rows)
    sizes = [int(row.shape[dim - 1]) for row in rows]
    return jagged(ops.cat(list(rows), dim - 1), Raggedness([0, *accumulate(sizes)]), dim)


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return a jagged tensor with copies of rows; it has no history.

    Parameters
    ----------
    tensor_list : sequence
        Tensors, or what `tt.tensor` takes, that differ in the size of one dimension.
    dtype : dtype, optional
        By default that of the first row.
    layout : layout, optional
        `tt.jagged`, the default.
    device : device, optional
        By default that of the first row.
    requires_grad : bool
        Whether operations on the tensor are recorded.
    pin_memory : bool
        Whether the values are copied to pinned memory.

    Raises
    ------
    LayoutError
        For the layout tt.strided.
    ShapeError
        When the list is empty, or rows differ in several dimensions.

    Examples
    --------
    >>> import tt
    >>> x = tt.nested.nested_tensor([[1.0, 2.0], [3.0]])
    >>> x.shape
    tt.Size([2, j(2, 1)])
    >>> x.unbind()
    (tensor([1., 2.]), tensor([3.]))
    """
    what = "nested_tensor"
    _check_layout(what, layout)
    if isinstance(tensor_list, Tensor) and is_nested(tensor_list):
        tensor_list = tensor_list.unbind()
    if not isinstance(tensor_list, Tensor | list | tuple):
        raise errors.ArgumentError(
            what, f"expected a list of tensors or of numbers, got {type(tensor_list).__name__}"
        )
    rows: list[Tensor] = [
        row.detach() if isinstance(row, Tensor) else as_tensor(row, device=device) for row in tensor_list
    ]
    if rows:
        kind = rows[0].dtype if dtype is None else to_dtype(dtype)
        target = rows[0].device if device is None else device
        rows = [row.to(device=target, dtype=kind) for row in rows]
    result = _joined(what, rows)
    if len(rows) == 1:
        # A join of one tensor may share its memory, and the result is a copy.
        result = result.clone()
    if pin_memory:
        result = ops.nested.with_values(result, ops.nested.values(result).pin_memory())
    return result.requires_grad_() if requires_grad else result


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """Return a jagged tensor of rows, through which gradients flow to the rows.

    Parameters
    ----------
    ts : Tensor or sequence of Tensor
        The rows: a list of tensors, or a dense tensor whose first dimension is the batch.
    dtype, device : dtype, device, optional
        By default those of the rows.
    layout : layout, optional
        `tt.jagged`, the default.

    Raises
    ------
    LayoutError, ShapeError
        As `nested_tensor`.

    Examples
    --------
    >>> import tt
    >>> a = tt.ones(2, requires_grad=True)
    >>> tt.nested.as_nested_tensor([a, tt.ones(3)]).sum().backward()
    >>> a.grad
    tensor([1., 1.])
    >>> tt.nested.as_nested_tensor(tt.zeros(2, 4)).shape
    tt.Size([2, j(4, 4)])
    """
    what = "as_nested_tensor"
    _check_layout(what, layout)
    if isinstance(ts, Tensor):
        result = ts if is_nested(ts) else _of_dense(what, ts)
        changed = (dtype is not None and to_dtype(dtype) is not ts.dtype) or device is not None
        return result.to(device=device, dtype=dtype) if changed else result
    if not isinstance(ts, list | tuple):
        raise errors.ArgumentError(what, f"expected a tensor or a list of tensors, got {type(ts).__name__}")
    rows = [row if isinstance(row, Tensor) else as_tensor(row) for row in ts]
    if dtype is not None or device is not None:
        rows = [row.to(device=device, dtype=dtype) for row in rows]
    return _joined(what, rows)


def _of_dense(what: str, dense: Tensor) -> Tensor:
    if dense.layout.name != "strided":
        raise errors.LayoutError(
            f"{what}(): expected a strided tensor, got {dense.layout}\n  try: x.to_dense()"
        )
    if dense.ndim < 2 or not dense.shape[0]:
        raise errors.ShapeError(
            f"{what}(): a dense tensor becomes rows along its first dimension, so it has at least two dimensions and "
            f"one row, but got shape {list(dense.shape)}"
        )
    count, length = dense.shape[:2]
    return jagged(ops.flatten(dense, 0, 1), Raggedness([k * length for k in range(count + 1)]))


def nested_tensor_from_jagged(
    values: Any,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """Return a jagged tensor over the values of its rows, whose memory it shares.

    Parameters
    ----------
    values : Tensor
        The rows, one after another along dimension `jagged_dim - 1`.
    offsets : Tensor, optional
        Where each row begins, and where the last one ends; needed without `lengths`.
    lengths : Tensor, optional
        The length of each row; with `offsets`, there may be gaps between rows.
    jagged_dim : int, optional
        The dimension of the result in which rows differ, 1 by default.
    min_seqlen, max_seqlen : int, optional
        The lengths of the shortest and the longest row; compared with those that the offsets give.

    Raises
    ------
    ShapeError, ValueRangeError, DtypeError
        When offsets and lengths do not fit the values.

    Examples
    --------
    >>> import tt
    >>> x = tt.nested.nested_tensor_from_jagged(tt.arange(5), tt.tensor([0, 2, 5]))
    >>> x.unbind()
    (tensor([0, 1]), tensor([2, 3, 4]))
    """
    what = "nested_tensor_from_jagged"
    if not isinstance(values, Tensor) or values.layout.name != "strided":
        raise errors.ArgumentError(what, "values must be a strided tensor")
    if offsets is None and lengths is None:
        raise errors.ArgumentError(what, "at least one of offsets and lengths must be given")
    dim = 1 if jagged_dim is None else jagged_dim
    if not 0 < dim <= values.ndim:
        raise errors.ValueRangeError(
            f"{what}(): jagged_dim must be from 1 to {values.ndim}, the number of dimensions of values, got {dim}"
        )
    counts = None if lengths is None else _numbers(what, "lengths", lengths)
    starts = [0, *accumulate(counts or [])] if offsets is None else _numbers(what, "offsets", offsets)
    # Without offsets the rows follow each other, and the lengths say nothing more.
    rows = Raggedness(starts, None if offsets is None else counts)
    rows.check(what, int(values.shape[dim - 1]))
    for name, value, own in (
        ("min_seqlen", min_seqlen, rows.shortest),
        ("max_seqlen", max_seqlen, rows.longest),
    ):
        if value is not None and value != own:
            raise errors.ValueRangeError(f"{what}(): {name} is {value}, but the rows have {own}")
    return jagged(values, rows, dim, view=True)


def _numbers(what: str, name: str, value: Any) -> list[int]:
    tensor = value if isinstance(value, Tensor) else as_tensor(value)
    if tensor.dtype.name not in ("int32", "int64"):
        raise errors.DtypeError(f"{what}(): {name} must be int64 or int32, got {tensor.dtype}")
    if tensor.ndim != 1:
        raise errors.ShapeError(f"{what}(): {name} must have one dimension, got shape {list(tensor.shape)}")
    numbers: list[int] = tensor.tolist()
    return numbers


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = None) -> Tensor:
    """Return parts of the rows of a dense tensor as a jagged one, over the same memory.

    Parameters
    ----------
    tensor : Tensor
        Dense, of the shape (batch, size, ...).
    dim : int
        1, the dimension of which parts are taken.
    start, length : int or Tensor
        Where the part of each row begins, and its length: one for all rows, or one for each.
    layout : layout, optional
        `tt.jagged`, the default.

    Raises
    ------
    LayoutError, ShapeError, ValueRangeError
        When a part is not inside of its row.

    Examples
    --------
    >>> import tt
    >>> x = tt.arange(6).reshape(2, 3)
    >>> tt.nested.narrow(x, 1, tt.tensor([0, 1]), tt.tensor([3, 1]), layout=tt.jagged).unbind()
    (tensor([0, 1, 2]), tensor([4]))
    """
    what = "narrow"
    _check_layout(what, layout)
    if tensor.layout.name != "strided" or tensor.ndim < 2:
        raise errors.ShapeError(f"{what}(): expected a strided tensor of at least two dimensions")
    if dim not in (1, 1 - tensor.ndim):
        raise errors.ValueRangeError(f"{what}(): parts are taken of dimension 1, not {dim}")
    count, size = int(tensor.shape[0]), int(tensor.shape[1])
    starts, lengths = (
        [value] * count if isinstance(value, int) else _numbers(what, name, value)
        for name, value in (("start", start), ("length", length))
    )
    if len(starts) != count or len(lengths) != count:
        raise errors.ShapeError(
            f"{what}(): start and length must have a number for each of the {count} rows, but have {len(starts)} and "
            f"{len(lengths)}"
        )
    for row, (begin, extent) in enumerate(zip(starts, lengths, strict=True)):
        if begin < 0 or extent < 0 or begin + extent > size:
            raise errors.ValueRangeError(
                f"{what}(): row {row} has {size} places, and the part of length {extent} from {begin} on is not inside"
            )
    values = ops.flatten(tensor, 0, 1)
    begins = [row * size + begin for row, begin in enumerate(starts)]
    ends = [begin + extent for begin, extent in zip(begins, lengths, strict=True)]
    # Parts that leave nothing out need no lengths.
    if begins[:1] == [0] and begins[1:] == ends[:-1] and ends[-1:] == [count * size]:
        return jagged(values, Raggedness([*begins, ends[-1]]), view=True)
    return jagged(values, Raggedness([*begins, ends[-1]], lengths), view=True)


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """Return the elements of a dense tensor where a mask is True, as a row for each row of the tensor.

    Parameters
    ----------
    tensor : Tensor
        Strided, with two dimensions.
    mask : Tensor
        Of bools, that broadcasts to it.

    Raises
    ------
    ShapeError, DtypeError, LayoutError
        When the arguments do not fit.

    Examples
    --------
    >>> import tt
    >>> x = tt.arange(6).reshape(2, 3)
    >>> tt.nested.masked_select(x, x % 3 > 0).unbind()
    (tensor([1, 2]), tensor([4, 5]))
    """
    what = "masked_select"
    if tensor.layout.name != "strided" or mask.layout.name != "strided":
        raise errors.LayoutError(f"{what}(): expected strided tensors, got {tensor.layout} and {mask.layout}")
    if mask.dtype.name != "bool":
        raise errors.DtypeError(f"{what}(): the mask must be a tensor of bools, got {mask.dtype}")
    if tensor.ndim != 2:
        raise errors.ShapeError(
            f"{what}(): expected a tensor of two dimensions, whose rows become the rows of the result, got "
            f"{tensor.ndim}"
        )
    whole = ops.expand(mask, tuple(tensor.shape))
    counts = ops.sum.dim(whole, 1).tolist()
    return jagged(ops.masked_select(tensor, whole), Raggedness([0, *accumulate(counts)]))


def to_padded_tensor(input: Tensor, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
    """Return a dense tensor with a number behind rows that are shorter than the longest.

    Examples
    --------
    >>> import tt
    >>> tt.nested.to_padded_tensor(tt.nested.nested_tensor([[1, 2], [3]]), -1, (2, 3))
    tensor([[ 1,  2, -1],
            [ 3, -1, -1]])
    """
    return padded(input, padding, output_size)
