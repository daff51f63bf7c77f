"""tt.quasirandom: points that fill a cube more evenly than random ones."""

from __future__ import annotations

from typing import Any

import tt
from tt.errors import ArgumentError, UnsupportedError, ValueRangeError

__all__ = ["SobolEngine"]


def _is(kind: type, value: Any) -> bool:
    return isinstance(value, kind)


class SobolEngine:
    """Draws the points of a Sobol sequence, whose direction numbers SciPy has (Joe and Kuo's).

    Parameters
    ----------
    dimension : int
        The number of coordinates, up to 21201.
    scramble : bool
        Whether the sequence is scrambled, with a random shift: its points are then random, and still even.
    seed : int, optional
        Of the scrambling; by default from the default generator.

    Examples
    --------
    >>> import tt
    >>> engine = tt.quasirandom.SobolEngine(2)
    >>> engine.draw(4)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500],
            [0.2500, 0.7500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not _is(int, dimension) or not 1 <= dimension <= self.MAXDIM:
            raise ValueRangeError(
                f"supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}], not {dimension!r}"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.num_generated = 0
        if scramble and seed is None:
            # From tt's generator, so that `tt.manual_seed` decides about it.
            self.seed = int(tt.randint(2**31, ()).item())
        self._engine = self._new()

    def _new(self) -> Any:
        try:
            from scipy.stats import qmc  # an optional library
        except ImportError as error:
            raise UnsupportedError("SobolEngine needs SciPy\n  try: pip install scipy") from error
        return qmc.Sobol(self.dimension, scramble=self.scramble, bits=self.MAXBIT, seed=self.seed)

    def draw(self, n: int = 1, out: tt.Tensor | None = None, dtype: tt.dtype | None = None) -> tt.Tensor:
        """Return the next points, one in each row.

        Parameters
        ----------
        n : int
            How many.
        out : Tensor, optional
            The tensor to write the points to, which is resized.
        dtype : dtype, optional
            The default dtype by default.
        """
        if not _is(int, n) or n < 0:
            raise ValueRangeError(f"draw(): the number of points is not negative, but got {n!r}")
        if n > 2**self.MAXBIT - self.num_generated:
            raise ValueRangeError(f"draw(): a sequence has 2**{self.MAXBIT} points")
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # about numbers of points that are not a power of two
            points = self._engine.random(n) if n else tt.empty(0, self.dimension).numpy()
        self.num_generated += n
        numbers = tt.from_numpy(points).to(tt.get_default_dtype() if dtype is None else dtype)
        return numbers if out is None else out.resize_(numbers.shape).copy_(numbers)

    def draw_base2(self, m: int, out: tt.Tensor | None = None, dtype: tt.dtype | None = None) -> tt.Tensor:
        """Return the next 2**m points; together with those before they must be a power of two.

        Raises
        ------
        ValueError
            If they are not: the points would not be even.
        """
        total = self.num_generated + 2**m
        # Zero only for powers of two.
        if total & (total - 1):
            raise ValueRangeError(
                f"draw_base2(): {self.num_generated} points were drawn, and {total} is not a power of two\n"
                "  try: engine.reset(), or draw()"
            )
        return self.draw(2**m, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Go back to the first point."""
        self._engine, self.num_generated = self._new(), 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Pass over points.

        Parameters
        ----------
        n : int
            How many.
        """
        if not isinstance(n, int):
            raise ArgumentError("fast_forward", f"argument 'n' must be int, not {type(n).__name__}")
        self._engine.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        words = [f"dimension={self.dimension}"]
        if self.scramble:
            words.append("scramble=True")
        return (
            f"SobolEngine({', '.join([*words, *([f'seed={self.seed}'] if self.seed is not None else [])])})"
        )
