"""Kullback-Leibler divergences between distributions, and the registry of their formulas."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import tt
from tt.distributions.distribution import Distribution
from tt.library import warn_user

__all__ = ["kl_divergence", "register_kl"]

Formula: TypeAlias = Callable[[Any, Any], tt.Tensor]

_KL_REGISTRY: dict[tuple[type, type], Formula] = {}
"""The registered formulas, under the name by which libraries look them up and copy them."""


def register_kl(type_p: Any, type_q: Any) -> Callable[[Formula], Formula]:
    """Register a function for the divergence of two classes, and of their subclasses that have none of their own.

    Parameters
    ----------
    type_p, type_q : type
        Classes, as a rule subclasses of `Distribution`.

    Returns
    -------
    callable
        A decorator of a function of two distributions.

    Raises
    ------
    TypeError
        If one is not a class.

    Examples
    --------
    >>> import tt
    >>> class Point(tt.distributions.Distribution):
    ...     arg_constraints = {}
    >>> @tt.distributions.register_kl(Point, tt.distributions.Normal)
    ... def _(p, q):
    ...     return tt.tensor(tt.inf)
    >>> tt.distributions.kl_divergence(Point(), tt.distributions.Normal(0.0, 1.0))
    tensor(inf)
    """
    for cls in (type_p, type_q):
        # Any class, as in PyTorch: libraries register a mixin or a base of distributions of their own.
        if not isinstance(cls, type):
            raise tt.errors.ArgumentError("register_kl", f"takes two classes, not {cls!r}")

    def register(formula: Formula) -> Formula:
        _KL_REGISTRY[type_p, type_q] = formula
        # A closer formula may have come.
        _formula_for.cache_clear()
        return formula

    return register


@lru_cache(maxsize=1024)
def _formula_for(type_p: type[Distribution], type_q: type[Distribution]) -> Formula | None:
    """Return the formula of the closest classes, those of p first."""
    mro_p, mro_q = type_p.__mro__, type_q.__mro__
    candidates = [(mro_p.index(p), mro_q.index(q)) for p, q in _KL_REGISTRY if p in mro_p and q in mro_q]
    if not candidates:
        return None
    # The closest for p and the closest for q; where they differ, neither is better.
    by_p, by_q = min(candidates), min(candidates, key=lambda pair: (pair[1], pair[0]))
    chosen, other = (_KL_REGISTRY[mro_p[i], mro_q[j]] for i, j in (by_p, by_q))
    if chosen is not other:
        names = [f"({mro_p[i].__name__}, {mro_q[j].__name__})" for i, j in (by_p, by_q)]
        warn_user(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}): {names[0]} is used, and {names[1]} fits "
            f"as well; register_kl({type_p.__name__}, {type_q.__name__}) decides it",
            RuntimeWarning,
        )
    return chosen


def kl_divergence(p: Distribution, q: Distribution) -> tt.Tensor:
    r"""Return the Kullback-Leibler divergence :math:`E_p[\log p(x) - \log q(x)]`, in closed form.

    Parameters
    ----------
    p, q : Distribution
        Their batches broadcast.

    Returns
    -------
    Tensor
        In the shape of the batch.

    Raises
    ------
    NotImplementedError
        If no formula is known for these classes.

    Examples
    --------
    >>> import tt
    >>> from tt.distributions import Exponential, kl_divergence
    >>> kl_divergence(Exponential(1.0), Exponential(2.0))
    tensor(0.3069)
    """
    types: tuple[Any, Any] = type(p), type(q)
    formula = _formula_for(*types)
    if formula is None:
        raise tt.errors.UnsupportedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}; "
            "register_kl adds one"
        )
    return formula(p, q)


from tt.distributions import _kl_pairs, _kl_same  # noqa: E402  they register formulas
