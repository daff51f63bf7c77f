"""Shape rules of Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence

from tt.core.errors import DtypeError, ShapeError
from tt.core.shapes.geometry import Described, check_size, wrap_dims
from tt.core.shapes.registry import RuleTable

rule = RuleTable()

Shape = tuple[int, ...]


@rule("fft_c2c")
def fft_c2c(self: Described, dim: Sequence[int], *, op: str) -> Shape:
    """As many numbers as there were."""
    wrap_dims(op, dim, self.ndim)
    return self.shape


@rule("fft_r2c")
def fft_r2c(self: Described, dim: Sequence[int], *, op: str) -> Shape:
    """The last of the dims keeps the frequencies from zero to the half."""
    if self.dtype.is_complex:
        raise DtypeError(f"{op}(): transforms real numbers, not {self.dtype}")
    last = last_dim(op, self, dim)
    return (*self.shape[:last], self.shape[last] // 2 + 1, *self.shape[last + 1 :])


@rule("fft_c2r")
def fft_c2r(self: Described, dim: Sequence[int], last_dim_size: int, *, op: str) -> Shape:
    """The last of the dims gets the size that the call names."""
    last = last_dim(op, self, dim)
    if not 2 * (self.shape[last] - 1) <= last_dim_size <= 2 * self.shape[last] - 1 or last_dim_size < 1:
        raise ShapeError(
            f"{op}(): {self.shape[last]} frequencies belong to {2 * self.shape[last] - 2} or "
            f"{2 * self.shape[last] - 1} real numbers, not {last_dim_size}"
        )
    return (*self.shape[:last], last_dim_size, *self.shape[last + 1 :])


def last_dim(op: str, self: Described, dim: Sequence[int]) -> int:
    """Return the last of the transformed dims, counted from the front."""
    dims = wrap_dims(op, dim, self.ndim)
    if not dims or not self.ndim:
        raise ShapeError(f"{op}(): transforms at least one dimension")
    return dims[-1]


@rule("fftfreq")
def fftfreq(n: int, *, op: str) -> Shape:
    """The frequencies of a transform of n numbers."""
    return check_size(op, (n,))


@rule("rfftfreq")
def rfftfreq(n: int, *, op: str) -> Shape:
    """The frequencies of a transform of n real numbers."""
    return check_size(op, (n // 2 + 1,))


def expect_points(op: str, n: int) -> None:
    """Raise unless there is a number to transform."""
    if n < 1:
        raise ShapeError(f"{op}(): transforms at least one number, not {n}")
