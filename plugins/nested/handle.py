"""The handle of a jagged tensor: its values, and where its rows lie in them."""

from __future__ import annotations

from typing import Any

from tt.plugins.nested.raggedness import Raggedness, RaggedSize

__all__ = ["JaggedHandle"]


class JaggedHandle:
    """Rows of different lengths, one after another in the values.

    Parameters
    ----------
    values : native array
        The rows, concatenated along dimension `ragged_dim - 1`.
    raggedness : Raggedness
        Where the rows lie.
    ragged_dim : int
        The dimension of the tensor in which the rows differ, 1 or higher.

    Examples
    --------
    >>> import numpy as np
    >>> from tt.plugins.nested.handle import JaggedHandle
    >>> from tt.plugins.nested.raggedness import Raggedness
    >>> JaggedHandle(np.ones((5, 4)), Raggedness([0, 2, 5])).shape
    (2, j(2, 3), 4)
    """

    __slots__ = ("ndim", "ragged_dim", "raggedness", "shape", "values")

    def __init__(self, values: Any, raggedness: Raggedness, ragged_dim: int = 1) -> None:
        self.assign_parts(values, raggedness, ragged_dim)

    def assign_parts(self, values: Any, raggedness: Raggedness, ragged_dim: int) -> None:
        """Set all fields."""
        sizes = list(values.shape)
        sizes[ragged_dim - 1] = RaggedSize(raggedness)
        self.values, self.raggedness, self.ragged_dim = values, raggedness, ragged_dim
        self.shape: tuple[int, ...] = (raggedness.batch, *sizes)
        self.ndim = len(self.shape)

    def assign(self, other: JaggedHandle) -> None:
        """Become what another handle is; they share the values."""
        self.assign_parts(other.values, other.raggedness, other.ragged_dim)

    @property
    def dtype(self) -> Any:
        """The native dtype of the values."""
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        """The size of the values in bytes."""
        return int(self.values.nbytes)

    def with_values(self, values: Any) -> JaggedHandle:
        """Return a handle of the same rows with other values."""
        return JaggedHandle(values, self.raggedness, self.ragged_dim)

    def __repr__(self) -> str:
        return f"JaggedHandle(shape={self.shape}, dtype={self.dtype})"
