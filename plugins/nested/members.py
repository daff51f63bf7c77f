"""The members of jagged tensors."""

from __future__ import annotations

from collections.abc import Sequence

from tt.core.library import Tensor, errors
from tt.plugins.nested.copies import padded
from tt.plugins.nested.parts import is_nested, rows_of

__all__ = ["lengths", "offsets", "to_padded_tensor"]


def _expect(self: Tensor, member: str) -> None:
    if not is_nested(self):
        raise errors.LayoutError(
            f"{member}() expected a tensor of the layout tt.jagged, but got {self.layout}\n"
            f"  try: tt.nested.as_nested_tensor(x).{member}()"
        )


def offsets(self: Tensor) -> Tensor:
    """Return where the rows of a jagged tensor begin and end in its values, as int64.

    Raises
    ------
    LayoutError
        For a tensor of another layout.

    Examples
    --------
    >>> import tt
    >>> tt.nested.nested_tensor([[1, 2], [3]]).offsets()
    tensor([0, 2, 3])
    """
    _expect(self, "offsets")
    rows = rows_of(self)
    return rows.on(rows.offsets, self.device)


def lengths(self: Tensor) -> Tensor | None:
    """Return how long the rows of a jagged tensor with gaps are, or None: they end where the next ones begin.

    Raises
    ------
    LayoutError
        For a tensor of another layout.

    Examples
    --------
    >>> import tt
    >>> x = tt.nested.narrow(tt.arange(6).reshape(2, 3), 1, 0, tt.tensor([2, 1]), layout=tt.jagged)
    >>> x.offsets(), x.lengths()
    (tensor([0, 3, 4]), tensor([2, 1]))
    >>> tt.nested.nested_tensor([[1, 2], [3]]).lengths() is None
    True
    """
    _expect(self, "lengths")
    rows = rows_of(self)
    return None if rows.lengths is None else rows.on(rows.lengths, self.device)


def to_padded_tensor(self: Tensor, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
    """Return a dense tensor with a number behind rows that are shorter than the longest.

    Parameters
    ----------
    padding : float
        The number.
    output_size : sequence of int, optional
        The size of the result, by default the smallest that holds all rows.

    Raises
    ------
    LayoutError
        For a tensor of another layout.
    ShapeError
        When `output_size` is too small.

    Examples
    --------
    >>> import tt
    >>> tt.nested.nested_tensor([[1, 2], [3]]).to_padded_tensor(0)
    tensor([[1, 2],
            [3, 0]])
    """
    return padded(self, padding, output_size)
