"""Constraints: the sets that parameters and samples lie in.

Examples
--------
>>> import tt
>>> constraints = tt.distributions.constraints
>>> constraints.positive.check(tt.tensor([1.0, -1.0]))
tensor([ True, False])
>>> constraints.interval(0.0, 1.0)
Interval(lower_bound=0.0, upper_bound=1.0)
"""

from __future__ import annotations

import tt
from tt.distributions._constraints_base import (
    Constraint,
    MixtureSameFamilyConstraint,
    _Cat,
    _Dependent,
    _DependentProperty,
    _IndependentConstraint,
    _name,
    _Stack,
    is_dependent,
)

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


# --- numbers ---------------------------------------------------------------------------------------------------


class _Boolean(Constraint):
    """The numbers 0 and 1."""

    is_discrete = True

    def check(self, value: tt.Tensor) -> tt.Tensor:
        return (value == 0) | (value == 1)


class _Real(Constraint):
    """All numbers but NaN."""

    def check(self, value: tt.Tensor) -> tt.Tensor:
        return value == value


class _Bounded(Constraint):
    """Numbers with bounds, which the representation shows."""

    def __repr__(self) -> str:
        shown = [f"{n}={getattr(self, n)}" for n in ("lower_bound", "upper_bound") if hasattr(self, n)]
        return f"{_name(self)}({', '.join(shown)})"


class _LowerBounded(_Bounded):
    def __init__(self, lower_bound: float | tt.Tensor) -> None:
        self.lower_bound = lower_bound
        super().__init__()


class _UpperBounded(_Bounded):
    def __init__(self, upper_bound: float | tt.Tensor) -> None:
        self.upper_bound = upper_bound
        super().__init__()


class _TwoBounds(_Bounded):
    def __init__(self, lower_bound: float | tt.Tensor, upper_bound: float | tt.Tensor) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()


class _GreaterThan(_LowerBounded):
    """Numbers above a bound."""

    def check(self, value: tt.Tensor) -> tt.Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_LowerBounded):
    """Numbers not below a bound."""

    def check(self, value: tt.Tensor) -> tt.Tensor:
        return self.lower_bound <= value


class _LessThan(_UpperBounded):
    """Numbers below a bound."""

    def check(self, value: tt.Tensor) -> tt.Tensor:
        return value < self.upper_bound


class _Interval(_TwoBounds):
    """Numbers between two bounds, with both."""

    def check(self, value: tt.Tensor) -> tt.Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_TwoBounds):
    """Numbers between two bounds, without the upper one."""

    def check(self, value: tt.Tensor) -> tt.Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_TwoBounds):
    """Integers between two bounds, with both."""

    is_discrete = True

    def check(self, value: tt.Tensor) -> tt.Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_LowerBounded):
    """Integers not below a bound."""

    is_discrete = True

    def check(self, value: tt.Tensor) -> tt.Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


# --- vectors ---------------------------------------------------------------------------------------------------


class _OneHot(Constraint):
    """Vectors of zeros and a single 1."""

    is_discrete = True
    event_dim = 1

    def check(self, value: tt.Tensor) -> tt.Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    """Vectors of numbers that are not negative and add up to 1."""

    event_dim = 1

    def check(self, value: tt.Tensor) -> tt.Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts, which add up to at most a bound (a batch may hold vectors of fewer trials)."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: float | tt.Tensor) -> None:
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: tt.Tensor) -> tt.Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


# --- matrices --------------------------------------------------------------------------------------------------


class _LowerTriangular(Constraint):
    """Lower triangular matrices."""

    event_dim = 2

    def check(self, value: tt.Tensor) -> tt.Tensor:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: tt.Tensor) -> tt.Tensor:
        return super().check(value) & (value.diagonal(0, -2, -1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Lower triangular matrices with a positive diagonal and rows of length 1."""

    def check(self, value: tt.Tensor) -> tt.Tensor:
        # Ten rounding errors for each element of a row.
        tolerance = tt.finfo(value.dtype).eps * value.shape[-1] * 10
        length = tt.linalg.norm(value.detach(), dim=-1)
        return super().check(value) & ((length - 1).abs() < tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: tt.Tensor) -> tt.Tensor:
        square = value.shape[-2] == value.shape[-1]
        return tt.full(tuple(value.shape[:-2]), square, dtype=tt.bool, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices, up to rounding errors."""

    def check(self, value: tt.Tensor) -> tt.Tensor:
        square = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return square
        return tt.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without a negative eigenvalue."""

    def check(self, value: tt.Tensor) -> tt.Tensor:
        symmetric = super().check(value)
        # `eigvalsh` reads one triangle only, and would call other matrices definite.
        if not bool(symmetric.all()):
            return symmetric
        return (tt.linalg.eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues only."""

    def check(self, value: tt.Tensor) -> tt.Tensor:
        symmetric = super().check(value)
        if not bool(symmetric.all()):
            return symmetric
        # A matrix is positive definite if its factorisation succeeds: a third of the cost of eigenvalues
        # or less.
        return tt.linalg.cholesky_ex(value)[1] == 0


# --- the names -------------------------------------------------------------------------------------------------

dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean: Constraint = _Boolean()
one_hot: Constraint = _OneHot()
nonnegative_integer: Constraint = _IntegerGreaterThan(0)
positive_integer: Constraint = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real: Constraint = _Real()
real_vector: Constraint = independent(real, 1)
positive: Constraint = _GreaterThan(0.0)
nonnegative: Constraint = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval: Constraint = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex: Constraint = _Simplex()
lower_triangular: Constraint = _LowerTriangular()
lower_cholesky: Constraint = _LowerCholesky()
corr_cholesky: Constraint = _CorrCholesky()
square: Constraint = _Square()
symmetric: Constraint = _Symmetric()
positive_semidefinite: Constraint = _PositiveSemidefinite()
positive_definite: Constraint = _PositiveDefinite()
cat = _Cat
stack = _Stack
