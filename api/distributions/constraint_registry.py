"""Registries that give a transform from all real numbers to a constrained set.

`biject_to` gives bijections, which keep densities, and `transform_to` transforms that may be simpler, for optimising
a constrained parameter.

Examples
--------
>>> import tt
>>> from tt.distributions import constraints
>>> tt.distributions.transform_to(constraints.interval(0.0, 1.0))(tt.zeros(1))
tensor([0.5000])
>>> tt.distributions.biject_to(constraints.simplex)
StickBreakingTransform()
>>> tt.distributions.transform_to(constraints.simplex)
SoftmaxTransform()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tt
from tt.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Factories of transforms, by the class of a constraint.

    Examples
    --------
    >>> import tt
    >>> from tt.distributions import constraints
    >>> registry = tt.distributions.constraint_registry.ConstraintRegistry()
    >>> @registry.register(constraints.positive)
    ... def _(constraint):
    ...     return tt.distributions.SoftplusTransform()
    >>> registry(constraints.positive)
    SoftplusTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}

    def register(self, constraint: Any, factory: Callable[[Any], Any] | None = None) -> Any:
        """Register a factory for constraints of a class.

        Parameters
        ----------
        constraint : Constraint or type
            The class, or a constraint of it.
        factory : callable, optional
            Takes a constraint and returns a transform; without it, a decorator is returned.

        Raises
        ------
        TypeError
            If the first argument is not a constraint.

        Examples
        --------
        >>> import tt
        >>> from tt.distributions import constraints
        >>> class Large(constraints.Constraint):
        ...     pass
        >>> factory = lambda constraint: tt.distributions.AffineTransform(1e6, 1.0)
        >>> tt.distributions.transform_to.register(Large, factory) is factory
        True
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        cls = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(cls, type) or not issubclass(cls, constraints.Constraint):
            raise tt.errors.ArgumentError(
                "register", f"takes a constraint or a class of constraints, not {constraint!r}"
            )
        self._registry[cls] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """Return the transform for a constraint.

        Parameters
        ----------
        constraint : Constraint
            The set of the results.

        Raises
        ------
        NotImplementedError
            If no factory is registered for its class.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise tt.errors.UnsupportedError(
                f"no transform to the constraint {constraint!r} ({type(constraint).__name__}) is registered; "
                "add one with biject_to.register or transform_to.register"
            )
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _register(constraint: Any, factory: Callable[[Any], Any]) -> None:
    biject_to.register(constraint, factory)
    transform_to.register(constraint, factory)


def _between(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    affine = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), affine])


def _beyond(bound: str, scale: int) -> Callable[[Any], Any]:
    def factory(constraint: Any) -> Any:
        affine = transforms.AffineTransform(getattr(constraint, bound), scale)
        return transforms.ComposeTransform([transforms.ExpTransform(), affine])

    return factory


_register(constraints.real, lambda _: transforms.identity_transform)
_register(constraints.greater_than, _beyond("lower_bound", 1))
_register(constraints.greater_than_eq, _beyond("lower_bound", 1))
_register(constraints.less_than, _beyond("upper_bound", -1))
_register(constraints.interval, _between)
_register(constraints.half_open_interval, _between)
# No bijections: what is above the diagonal does not count.
transform_to.register(constraints.lower_cholesky, lambda _: transforms.LowerCholeskyTransform())
transform_to.register(constraints.positive_definite, lambda _: transforms.PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda _: transforms.PositiveDefiniteTransform())
_register(constraints.corr_cholesky, lambda _: transforms.CorrCholeskyTransform())
# Softmax is simpler and treats all elements alike; but it maps many vectors to one.
biject_to.register(constraints.simplex, lambda _: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda _: transforms.SoftmaxTransform())


def _register_of_parts(registry: ConstraintRegistry) -> None:
    """Register constraints that are made of others, whose transforms the same registry gives."""
    registry.register(
        constraints.independent,
        lambda c: transforms.IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims),
    )
    registry.register(
        constraints.cat,
        lambda c: transforms.CatTransform([registry(part) for part in c.cseq], c.dim, c.lengths),
    )
    registry.register(
        constraints.stack, lambda c: transforms.StackTransform([registry(part) for part in c.cseq], c.dim)
    )


_register_of_parts(biject_to)
_register_of_parts(transform_to)
