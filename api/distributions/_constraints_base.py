"""Parts of constraints: the base class, constraints that depend on parameters, and constraints of parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tt

__all__ = ["Constraint", "MixtureSameFamilyConstraint", "is_dependent"]


class Constraint:
    """A set of values; the last `event_dim` dimensions of a tensor are one value.

    Examples
    --------
    >>> import tt
    >>> class Even(tt.distributions.constraints.Constraint):
    ...     is_discrete = True
    ...
    ...     def check(self, value):
    ...         return value % 2 == 0
    >>> Even().check(tt.tensor([1, 2]))
    tensor([False,  True])
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: tt.Tensor) -> tt.Tensor:
        """Return which values lie in the set."""
        raise tt.errors.UnsupportedError(f"{type(self).__name__} does not implement check")

    def __repr__(self) -> str:
        return f"{_name(self)}()"


def _name(constraint: Constraint) -> str:
    return type(constraint).__name__.lstrip("_")


# --- sets that depend on other parameters ----------------------------------------------------------------------


class _Dependent(Constraint):
    """A set that depends on other parameters; `check` is not possible."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        return self._known(self._is_discrete, "is_discrete")

    @property
    def event_dim(self) -> Any:
        return self._known(self._event_dim, "event_dim")

    def _known(self, value: Any, name: str) -> Any:
        # None and False are possible answers, so something else stands for "not known".
        if value is NotImplemented:
            raise tt.errors.UnsupportedError(f"the {name} of this constraint depends on parameters")
        return value

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """Return a dependent constraint of which these facts are known."""
        if is_discrete is NotImplemented:
            is_discrete = self._is_discrete
        if event_dim is NotImplemented:
            event_dim = self._event_dim
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, value: tt.Tensor) -> tt.Tensor:
        raise tt.errors.ValueRangeError(
            "a constraint that depends on other parameters cannot be checked alone"
        )


def is_dependent(constraint: object) -> bool:
    """Return whether a constraint depends on other parameters.

    Examples
    --------
    >>> from tt.distributions import constraints
    >>> constraints.is_dependent(constraints.dependent), constraints.is_dependent(constraints.real)
    (True, False)
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property whose value is a constraint; on the class, it is a dependent constraint."""

    def __init__(
        self,
        fn: Callable[[Any], Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        property.__init__(self, fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[[Any], Any]) -> _DependentProperty:  # type: ignore[override] # a decorator
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# --- sets of independent values --------------------------------------------------------------------------------


class _IndependentConstraint(Constraint):
    """Values whose last dimensions belong to one value, which is in the set if all its parts are."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: Any) -> None:
        _expect_constraints("independent", [base_constraint])
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise tt.errors.ValueRangeError(
                f"reinterpreted_batch_ndims is a number of dimensions, not {reinterpreted_batch_ndims!r}"
            )
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        return int(self.base_constraint.event_dim) + self.reinterpreted_batch_ndims

    def check(self, value: tt.Tensor) -> tt.Tensor:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise tt.errors.ValueRangeError(
                f"a value of this constraint has at least {self.event_dim} dimensions, and this one {value.dim()}"
            )
        kept = result.dim() - self.reinterpreted_batch_ndims
        return result.reshape((*result.shape[:kept], -1)).all(-1)

    def __repr__(self) -> str:
        return f"{_name(self)}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """Samples of a mixture, which have to lie in the support of every component.

    Examples
    --------
    >>> import tt
    >>> from tt.distributions import constraints
    >>> constraints.MixtureSameFamilyConstraint(constraints.positive).check(tt.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        _expect_constraints("MixtureSameFamilyConstraint", [base_constraint])
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        return int(self.base_constraint.event_dim)

    def check(self, value: tt.Tensor) -> tt.Tensor:
        """Return which values lie in the support of all components."""
        if value.dim() < self.event_dim:
            raise tt.errors.ValueRangeError(
                f"a value has at least {self.event_dim} dimensions, and this one {value.dim()}"
            )
        # The components lie along the batch dimension before those of one value.
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        kept = value.dim() - self.event_dim
        return result.reshape((*result.shape[:kept], -1)).all(-1)

    def __repr__(self) -> str:
        return f"{_name(self)}({self.base_constraint!r})"


def _expect_constraints(what: str, given: Sequence[Any]) -> None:
    for constraint in given:
        if not isinstance(constraint, Constraint):
            raise tt.errors.AssertedError(
                f"{what} takes constraints, and {type(constraint).__name__} is not one"
            )


class _Cat(Constraint):
    """Constraints for parts of a dimension, of the given lengths."""

    def __init__(self, cseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        _expect_constraints("cat", cseq)
        self.cseq = list(cseq)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise tt.errors.AssertedError(
                f"{len(self.lengths)} lengths are given for {len(self.cseq)} constraints"
            )
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:
        return max(int(c.event_dim) for c in self.cseq)

    def check(self, value: tt.Tensor) -> tt.Tensor:
        _expect_dim(value, self.dim)
        parts, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths, strict=True):
            parts.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return tt.cat(parts, self.dim)


class _Stack(Constraint):
    """A constraint for each index of a dimension."""

    def __init__(self, cseq: Sequence[Any], dim: int = 0) -> None:
        _expect_constraints("stack", cseq)
        self.cseq = list(cseq)
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:
        dim = max(int(c.event_dim) for c in self.cseq)
        # A stacked dimension that is counted from the end lies within one value.
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: tt.Tensor) -> tt.Tensor:
        _expect_dim(value, self.dim)
        parts = zip(self.cseq, value.unbind(self.dim), strict=True)
        return tt.stack([constraint.check(part) for constraint, part in parts], self.dim)


def _expect_dim(value: tt.Tensor, dim: int) -> None:
    if not -value.dim() <= dim < value.dim():
        raise tt.errors.AssertedError(f"a value with {value.dim()} dimensions has no dimension {dim}")
