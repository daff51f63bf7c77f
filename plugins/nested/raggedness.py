"""Where the rows of a jagged tensor lie in its values, and the size that stands for their lengths in a shape.

Note [Offsets on the host]
--------------------------
The offsets of a jagged tensor are kept in host memory on every device: loops over rows, sizes, comparisons and tensors
without data then need no transfer and no waiting for a device.  `offsets()` copies them to the device of the tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tt.core.library import Device, Tensor, as_tensor, errors

__all__ = ["RaggedSize", "Raggedness"]

_SHOWN = 6


class Raggedness:
    """The places of the rows of a batch along one dimension of their common values.

    Parameters
    ----------
    offsets : sequence of int
        Where each row begins, and where the last one ends.
    lengths : sequence of int, optional
        How long each row is, if there is more between the beginnings of two rows than the first of them.

    Examples
    --------
    >>> from tt.plugins.nested.raggedness import Raggedness
    >>> rows = Raggedness([0, 2, 5])
    >>> rows.sizes, rows.longest, rows.contiguous
    ((2, 3), 3, True)
    """

    def __init__(self, offsets: Sequence[int], lengths: Sequence[int] | None = None) -> None:
        self.offsets = np.array(offsets, np.int64)
        self.lengths = None if lengths is None else np.array(lengths, np.int64)
        ends = np.diff(self.offsets) if self.lengths is None else self.lengths
        self.sizes: tuple[int, ...] = tuple(ends.tolist())

    @property
    def batch(self) -> int:
        """The number of rows."""
        return len(self.sizes)

    @property
    def contiguous(self) -> bool:
        """Whether the rows follow each other, with nothing before, between or after them."""
        return self.lengths is None

    @cached_property
    def longest(self) -> int:
        """The length of the longest row."""
        return max(self.sizes, default=0)

    @cached_property
    def shortest(self) -> int:
        """The length of the shortest row."""
        return min(self.sizes, default=0)

    @cached_property
    def total(self) -> int:
        """The number of places that belong to rows."""
        return sum(self.sizes)

    @cached_property
    def end(self) -> int:
        """The place behind the last row in the values."""
        return int((self.offsets[: self.batch] + np.array(self.sizes, np.int64)).max()) if self.sizes else 0

    @cached_property
    def packed(self) -> Raggedness:
        """Rows of the same lengths that follow each other."""
        return self if self.contiguous else Raggedness(np.cumsum((0, *self.sizes)).tolist())

    def same_rows(self, other: Raggedness) -> bool:
        """Return whether another batch has rows of the same lengths."""
        return self is other or self.sizes == other.sizes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Raggedness):
            return NotImplemented
        return self is other or (
            np.array_equal(self.offsets, other.offsets)
            and (self.lengths is None) == (other.lengths is None)
            and self.sizes == other.sizes
        )

    def __hash__(self) -> int:
        # Equal batches have equal sizes; the offsets need not be hashed as well.
        return hash(self.sizes)

    # --- positions -------------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> np.ndarray[Any, Any]:
        """The number of the row of each place, row by row."""
        return np.repeat(np.arange(self.batch), np.array(self.sizes, np.int64))

    @cached_property
    def positions(self) -> np.ndarray[Any, Any]:
        """The position of each place in its row, row by row."""
        return np.arange(self.total) - np.repeat(self.packed.offsets[:-1], np.array(self.sizes, np.int64))

    @cached_property
    def places(self) -> np.ndarray[Any, Any]:
        """The places of the rows in the values, row by row."""
        return self.positions + np.repeat(self.offsets[: self.batch], np.array(self.sizes, np.int64))

    def on(self, indices: np.ndarray[Any, Any], device: Device) -> Tensor:
        """Return indices as a tensor of a device; its memory is its own."""
        return as_tensor(indices.copy(), device=device)

    def check(self, what: str, size: int) -> None:
        """Refuse offsets that do not fit values of a size.

        Raises
        ------
        ShapeError, ValueRangeError
            When there are too few offsets, they decrease, or a row is not inside of the values.
        """
        if self.offsets.ndim != 1 or len(self.offsets) < 2:
            raise errors.ShapeError(
                f"{what}: offsets must have one dimension and an element more than there are rows, but got shape "
                f"{list(self.offsets.shape)}"
            )
        if self.lengths is not None and self.lengths.shape != self.offsets[1:].shape:
            raise errors.ShapeError(
                f"{what}: lengths must have an element for each of the {len(self.offsets) - 1} rows, but got shape "
                f"{list(self.lengths.shape)}"
            )
        starts = self.offsets[: self.batch]
        if min(self.sizes) < 0:
            raise errors.ValueRangeError(
                f"{what}: offsets must not decrease and lengths not be negative: row {self.sizes.index(self.shortest)} "
                f"has length {self.shortest}"
            )
        if int(starts.min()) < 0 or int((starts + np.array(self.sizes)).max()) > size:
            raise errors.ValueRangeError(
                f"{what}: a row lies outside of the values, which have {size} places, but offsets reach from "
                f"{int(starts.min())} to {int((starts + np.array(self.sizes)).max())}"
            )
        if self.contiguous and (int(self.offsets[0]) != 0 or int(self.offsets[-1]) != size):
            raise errors.ValueRangeError(
                f"{what}: offsets must begin with 0 and end with the size of the values, {size}, but got "
                f"{int(self.offsets[0])} and {int(self.offsets[-1])}\n  try: lengths=, if there is more than rows"
            )


class RaggedSize(int):
    """The size of a ragged dimension: an int, the length of the longest row.

    It prints the lengths of the rows and equals the sizes of the same lengths only, no other number.

    Parameters
    ----------
    rows : Raggedness
        The rows whose lengths it stands for.

    Examples
    --------
    >>> from tt.plugins.nested.raggedness import Raggedness, RaggedSize
    >>> size = RaggedSize(Raggedness([0, 2, 5]))
    >>> size, int(size), size == 3, size == RaggedSize(Raggedness([0, 2, 5]))
    (j(2, 3), 3, False, True)
    """

    raggedness: Raggedness

    def __new__(cls, rows: Raggedness) -> RaggedSize:
        """Return the size of the rows."""
        new = super().__new__(cls, rows.longest)
        new.raggedness = rows
        return new

    def __eq__(self, other: object) -> bool:
        # A number is not enough: rows of other lengths may have the same longest row.
        return isinstance(other, RaggedSize) and self.raggedness.same_rows(other.raggedness)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.raggedness)

    def __repr__(self) -> str:
        sizes = [str(n) for n in self.raggedness.sizes]
        if len(sizes) > _SHOWN:
            sizes = [*sizes[: _SHOWN // 2], "...", *sizes[-_SHOWN // 2 :]]
        return f"j({', '.join(sizes)})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self) if not spec else int.__format__(self, spec)

    def __reduce__(self) -> tuple[Any, ...]:
        lengths = None if self.raggedness.lengths is None else self.raggedness.lengths.tolist()
        return _rebuilt, (self.raggedness.offsets.tolist(), lengths)


def _rebuilt(offsets: Sequence[int], lengths: Sequence[int] | None) -> RaggedSize:
    return RaggedSize(Raggedness(offsets, lengths))
