"""Composites of the incomplete and the multivariate gamma functions and of Hurwitz' zeta function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from tt.core.composites.helpers import as_type, floating, number, operand, python_value, widened
from tt.core.composites.special import BERNOULLI
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.dispatch.resolve.dtypes import common_dtype
from tt.core.errors import ShapeError
from tt.core.types.dtype import finfo

composites: Final = CompositeTable()
composite = composites.composite

LONGEST: Final = 20_000
"""Terms after which a series ends; around x = a it has some 9 sqrt(a)."""
BETWEEN: Final = 16
"""Terms between two looks at whether they still count."""

# --- incomplete gamma functions --------------------------------------------------------------------------------


def _series(a: Any, x: Any, eps: float) -> Any:
    """Return the sum of x^n / ((a + 1) ... (a + n)), which converges fast for x below a."""
    term = total = ops.ones_like(a)
    for n in range(1, LONGEST):
        term = ops.mul(term, ops.div.default(x, ops.add(a, n)))
        total = ops.add(total, term)
        if n % BETWEEN == 0 and not python_value(ops.any(ops.gt(term, ops.mul(total, eps)))):
            break
    return total


def _fraction(a: Any, x: Any, eps: float) -> Any:
    """Return the continued fraction of the upper function, by Lentz' method; it converges fast for x above a."""
    tiny = 1e-30
    b = ops.add(ops.sub(x, a), 1)
    c = ops.full_like(b, 1 / tiny)
    d = found = ops.reciprocal(b)
    for n in range(1, LONGEST):
        factor = ops.mul(ops.sub(a, n), n)
        b = ops.add(b, 2)
        d, c = ops.add(ops.mul(factor, d), b), ops.add(b, ops.div.default(factor, c))
        d = ops.reciprocal(ops.where(ops.lt(ops.abs(d), tiny), number(tiny, d), d))
        c = ops.where(ops.lt(ops.abs(c), tiny), number(tiny, c), c)
        change = ops.mul(c, d)
        found = ops.mul(found, change)
        if n % BETWEEN == 0 and not python_value(ops.any(ops.gt(ops.abs(ops.sub(change, 1)), eps))):
            break
    return found


def _incomplete(self: Any, other: Any, upper: bool) -> Any:
    dtype = common_dtype(self, other)
    dtype = dtype if dtype.is_floating_point else common_dtype(dtype, 1.0)
    a, x = ops.broadcast_tensors([widened(as_type(self, dtype)), widened(as_type(other, dtype))])
    eps = float(finfo(a.dtype).eps) / 4
    usual = ops.logical_and(ops.logical_and(ops.gt(a, 0), ops.lt(a, math.inf)), ops.gt(x, 0))
    usual = ops.logical_and(usual, ops.lt(x, math.inf))
    one = number(1, a)
    p, y = ops.where(usual, a, one), ops.where(usual, x, one)
    scale = ops.exp(ops.sub(ops.sub(ops.mul(p, ops.log(y)), y), ops.lgamma(p)))
    below = ops.lt(y, ops.add(p, 1))
    series = ops.div.default(ops.mul(_series(p, ops.where(below, y, number(0, y)), eps), scale), p)
    fraction = ops.mul(_fraction(ops.where(below, one, p), ops.where(below, number(3, y), y), eps), scale)
    if upper:
        found = ops.where(below, ops.rsub(series, 1.0), fraction)
    else:
        found = ops.where(below, series, ops.rsub(fraction, 1.0))
    nothing, whole = (number(v, a) for v in ((1, 0) if upper else (0, 1)))
    found = ops.where(ops.logical_or(ops.eq(x, 0), ops.eq(a, math.inf)), nothing, found)
    found = ops.where(
        ops.logical_or(ops.logical_and(ops.eq(a, 0), ops.gt(x, 0)), ops.eq(x, math.inf)), whole, found
    )
    wrong = ops.logical_or(ops.lt(a, 0), ops.lt(x, 0))
    wrong = ops.logical_or(wrong, ops.logical_or(ops.ne(a, a), ops.ne(x, x)))
    wrong = ops.logical_or(wrong, ops.logical_and(ops.eq(a, 0), ops.eq(x, 0)))
    wrong = ops.logical_or(wrong, ops.logical_and(ops.eq(a, math.inf), ops.eq(x, math.inf)))
    return as_type(ops.where(wrong, number(math.nan, a), found), dtype)


composite("igamma", lambda self, other: _incomplete(self, other, upper=False))
composite("igammac", lambda self, other: _incomplete(self, other, upper=True))

# --- the multivariate gamma function ---------------------------------------------------------------------------


FEW: Final = 64
"""Terms that are added one after the other."""


@composite("mvlgamma")
def mvlgamma(self: Any, p: int) -> Any:
    if p < 1:
        raise ShapeError(f"mvlgamma(): p has to be at least 1, got {p}")
    given = floating(self)
    x = widened(given)
    found = ops.lgamma(x)
    if p <= FEW:
        for j in range(1, p):
            found = ops.add(found, ops.lgamma(ops.sub(x, j / 2)))
    else:  # all at once, so that an impossible order fails for lack of memory instead of taking ever so long
        halves = ops.mul(as_type(ops.arange(1, p, device=x.device), x.dtype), 0.5)
        found = ops.add(found, ops.sum.dim(ops.lgamma(ops.sub(ops.unsqueeze(x, -1), halves)), [-1]))
    return as_type(ops.add(found, p * (p - 1) / 4 * math.log(math.pi)), given.dtype)


# --- Hurwitz' zeta function ------------------------------------------------------------------------------------

STEPS: Final = 12
"""Terms of the sum before the rest is approximated by Euler's and Maclaurin's formula, counted from 0."""


@composite("special_zeta")
def zeta(self: Any, other: Any) -> Any:
    dtype = common_dtype(self, other)
    dtype = dtype if dtype.is_floating_point else common_dtype(dtype, 1.0)
    s, a = ops.broadcast_tensors(
        [widened(as_type(operand(self, other), dtype)), widened(as_type(operand(other, self), dtype))]
    )
    usual = ops.logical_and(ops.gt(s, 1), ops.logical_or(ops.gt(a, 0), ops.eq(s, ops.floor(s))))
    usual = ops.logical_and(usual, ops.logical_and(ops.lt(s, math.inf), ops.gt(a, -1e5)))
    pole = ops.logical_and(ops.le(a, 0), ops.eq(a, ops.floor(a)))
    usual = ops.logical_and(usual, ops.logical_not(pole))
    p, q = ops.where(usual, s, number(2, s)), ops.where(usual, a, number(1, a))
    low = python_value(ops.amin(q)) if q.numel() else 1
    steps = STEPS + (math.ceil(-low) if low is not None and low < 0 else 0)
    negative = ops.neg(p)
    total = ops.zeros_like(q)
    for k in range(steps):
        total = ops.add(total, ops.pow.default(ops.add(q, k), negative))
    w = ops.add(q, steps)
    power = ops.pow.default(w, negative)
    total = ops.add(total, ops.mul(power, ops.div.default(w, ops.sub(p, 1))))
    total = ops.add(total, ops.mul(power, 0.5))
    factor = ops.div.default(ops.mul(power, p), w)
    square = ops.square(w)
    for j, b in enumerate(BERNOULLI):
        total = ops.add(total, ops.mul(factor, b))
        step = ops.mul(ops.add(p, 2 * j + 1), ops.add(p, 2 * j + 2))
        factor = ops.mul(factor, ops.div.default(step, square))
    found = ops.where(usual, total, number(math.nan, s))
    # At the infinities as SciPy's: what one term of the sum, or the integral, says there.
    endless = ops.eq(s, math.inf)
    found = ops.where(ops.logical_and(endless, ops.lt(a, 1)), number(math.inf, s), found)
    found = ops.where(ops.logical_and(endless, ops.eq(a, 1)), number(1, s), found)
    vanishes = ops.logical_or(ops.eq(a, math.inf), ops.logical_and(endless, ops.gt(a, 1e8)))
    found = ops.where(ops.logical_and(vanishes, ops.gt(s, 1)), number(0, s), found)
    found = ops.where(ops.logical_and(pole, ops.logical_not(ops.lt(s, 1))), number(math.inf, s), found)
    found = ops.where(ops.eq(s, 1), number(math.inf, s), found)
    return as_type(found, dtype)


def _of_number(name: str) -> Callable[..., Any]:
    return lambda self, other: getattr(ops, name).default(operand(self, other), other)


composite("special_zeta.self_scalar", _of_number("special_zeta"))
