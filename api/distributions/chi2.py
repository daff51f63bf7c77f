"""Chi2: sums of squares of normal numbers."""

from __future__ import annotations

import tt
from tt.distributions import constraints
from tt.distributions.gamma import Gamma
from tt.distributions.utils import broadcast_all

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The chi-squared distribution, that of the sum of the squares of `df` normal numbers.

    Parameters
    ----------
    df : Tensor or float
        The degrees of freedom.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.Chi2(3.0)
    >>> d.mean, d.variance
    (tensor(3.), tensor(6.))
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: float | tt.Tensor, validate_args: bool | None = None) -> None:
        (df,) = broadcast_all(df)
        super().__init__(0.5 * df, tt.full_like(df, 0.5), validate_args=validate_args)

    @property
    def df(self) -> tt.Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
