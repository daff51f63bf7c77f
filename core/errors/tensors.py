"""Tensors that an operator refuses: their shape, dtype, layout or memory."""

from __future__ import annotations

from collections.abc import Sequence

from tt.core.errors.base import TTError

# Note [Several built-in exceptions at once]
# For the same kind of mistake PyTorch raises a RuntimeError where it is found in C++, and another exception where its
# Python code finds it first: a ValueError for shapes and dtypes, an IndexError for a dimension that is looked up.  This
# differs from function to function, and even with the other arguments.  So a class here is all of those that a
# caller may expect for its mistake; tests/core/test_error_classes.py compares wrong calls of every operator.


class ShapeError(TTError, RuntimeError, ValueError):
    """Shapes that an operator cannot combine."""


class DimensionCountError(ShapeError, IndexError):
    """A tensor with too few or too many dimensions."""


class SizeLimitError(ShapeError):
    """A shape that no tensor can have: its bytes exceed 63 bits, or the array library has no such array."""

    def __init__(
        self, op: str, shape: Sequence[int], dtype: str | None = None, *, reason: str | None = None
    ) -> None:
        self.op, self.shape, self.dtype, self.reason = op, tuple(shape), dtype, reason
        kind = f" and dtype {dtype}" if dtype else ""
        limit = (
            f", or its source, is not an array: {reason}"
            if reason
            else (" would be larger than any can be (2**63 - 1 bytes)")
        )
        super().__init__(f"{op}(): a tensor of shape {list(shape)}{kind}{limit}")


class BroadcastError(ShapeError):
    """Two shapes that do not broadcast."""

    def __init__(self, op: str, left: Sequence[int], right: Sequence[int], dim: int) -> None:
        self.op, self.left, self.right, self.dim = op, tuple(left), tuple(right), dim
        # From the end, since shapes broadcast from their last dimensions.
        from_end = dim - max(len(left), len(right))
        size_left, size_right = left[from_end], right[from_end]
        super().__init__(
            f"{op}(): the shapes {list(left)} and {list(right)} do not broadcast: in dimension {dim} the sizes are "
            f"{size_left} and {size_right}, and neither is 1"
        )


class DimensionError(TTError, IndexError, RuntimeError):
    """A dimension that the tensor does not have."""

    def __init__(self, op: str, dim: int, ndim: int) -> None:
        self.op, self.dim, self.ndim = op, dim, ndim
        low, high = (-ndim, ndim - 1) if ndim else (-1, 0)
        super().__init__(
            f"{op}(): there is no dimension {dim}: a tensor with {ndim} dimensions has those from {low} to {high}"
        )


class IndexValueError(TTError, IndexError, RuntimeError, ValueError):
    """An index outside of the dimension that it indexes, or an index expression that is not one."""


class PlaceError(IndexValueError):
    """An index outside of its dimension in gather and scatter."""


class DtypeError(TTError, NotImplementedError, ValueError):
    """A dtype that the operator, not a particular backend, refuses."""


class PromotionError(DtypeError):
    """Two dtypes that have no common dtype."""

    def __init__(self, left: str, right: str) -> None:
        self.left, self.right = left, right
        stored = [name for name in (left, right) if name.startswith("float8")]
        why = "float8 does not promote" if stored else "none holds the numbers of both"
        if any(name.startswith(("qint", "quint")) for name in (left, right)):
            super().__init__(
                f"{left} and {right} have no common dtype: a quantized number means nothing without its scale\n"
                "  try: x.dequantize()"
            )
            return
        target = "float32" if len(stored) == 2 else right if left in stored else left if stored else right
        super().__init__(
            f"{left} and {right} have no common dtype: {why}\n"
            f"  try: convert one of them first, for instance x.to(tt.{target})"
        )


class CastError(DtypeError, TypeError):
    """A result whose dtype cannot be stored in the target of an in-place or out= call."""

    def __init__(self, op: str, found: str, target: str) -> None:
        self.op, self.found, self.target = op, found, target
        super().__init__(f"{op}(): the result has dtype {found}, which the target's {target} cannot hold")


class TargetDtypeError(DtypeError):
    """The target of an in-place or out= call does not have the dtype of the result, and is not cast to.

    Attributes
    ----------
    op : str
        The operator.
    found, target : str
        The dtypes of the result and of the target.
    """

    def __init__(self, op: str, found: str, target: str) -> None:
        self.op, self.found, self.target = op, found, target
        super().__init__(
            f"{op}(): expected the tensor that is written to to have dtype {found}, but got {target} instead\n"
            f"  try: a tensor of dtype {found}, and convert it afterwards"
        )


class DataTypeError(DtypeError, TypeError):
    """A Python object that is neither a number, a sequence nor an array."""


class NumpyError(DtypeError, TypeError):
    """A tensor that is not plain memory of the host where a NumPy array of it is asked for."""


class ExportError(DtypeError, BufferError):
    """A tensor that other libraries cannot share; the array API standard asks for a BufferError."""


class LayoutError(TTError, RuntimeError):
    """A tensor whose layout lacks the member."""


class HiddenValuesError(TTError, RuntimeError):
    """A tensor that stands for others inside a transform, asked for its values."""


class DataDependentError(TTError, NotImplementedError):
    """A call whose result depends on data, made on tensors that have none."""

    def __init__(self, op: str, device: str) -> None:
        self.op, self.device = op, device
        super().__init__(
            f"{op}(): the result depends on the values of its tensors, and a {device} tensor has none\n"
            f"  try: run it on a tensor with data, for instance on device='cpu'"
        )


class InplaceError(TTError, RuntimeError):
    """An in-place or out= call on what does not allow it."""


class ReadOnlyError(InplaceError, ValueError):
    """A write into memory that came in as read-only."""

    def __init__(self, op: str, owner: str) -> None:
        self.op, self.owner = op, owner
        super().__init__(
            f"{op}(): the memory that is written to is read-only, it belongs to {owner}\n"
            "  try: clone() the tensor first"
        )
