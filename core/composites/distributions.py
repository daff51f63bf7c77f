"""Composites that fill tensors with numbers of further distributions."""

from __future__ import annotations

import math
from typing import Any, Final

from tt.core.composites.helpers import as_type
from tt.core.composites.random import uniform_like
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import ShapeError, ValueRangeError
from tt.core.types.dtype import finfo, float64, iinfo, int64
from tt.core.types.user_warnings import warn_user

composites: Final = CompositeTable()
composite = composites.composite

# --- by the inverse of the distribution ------------------------------------------------------------------------

HALF_STEP: Final = 2.0**-54
"""Half the distance of uniform numbers in double precision; added to them, none is 0."""


def _inner(self: Any, generator: Any) -> Any:
    """Return uniform numbers in double precision between 0 and 1, without these."""
    return ops.add(uniform_like(self, generator, float64), HALF_STEP)


@composite("cauchy")
def cauchy(self: Any, median: float, sigma: float, generator: Any) -> Any:
    if not sigma > 0:
        raise ValueRangeError(f"cauchy_(): sigma must be positive, got {sigma}")
    angle = ops.mul(ops.sub(_inner(self, generator), 0.5), math.pi)
    return as_type(ops.add(ops.mul(ops.tan(angle), sigma), median), self.dtype)


@composite("log_normal")
def log_normal(self: Any, mean: float, std: float, generator: Any) -> Any:
    if not std > 0:
        raise ValueRangeError(f"log_normal_(): std must be positive, got {std}")
    drawn = ops.randn(tuple(self.shape), generator=generator, dtype=float64, device=self.device)
    return as_type(ops.exp(ops.add(ops.mul(drawn, std), mean)), self.dtype)


@composite("geometric")
def geometric(self: Any, p: float, generator: Any) -> Any:
    if not 0 < p < 1:
        raise ValueRangeError(f"geometric_(): p must be between 0 and 1, got {p}")
    trials = ops.ceil(ops.div.default(ops.log(_inner(self, generator)), math.log1p(-p)))
    trials = ops.clamp(trials, 1, None)
    if not self.dtype.is_floating_point:
        trials = ops.clamp(trials, None, min(iinfo(self.dtype).max, 2**53))
    return as_type(trials, self.dtype)


# --- integers --------------------------------------------------------------------------------------------------


def _largest(dtype: Any) -> int:
    """Return the largest integer that `random_` draws."""
    if dtype.kind == "bool":
        return 1
    if dtype.is_floating_point:
        return int(2 / finfo(dtype).eps)  # up to here every integer is one of its numbers
    return min(int(iinfo(dtype).max), 2**63 - 1)


def _drawn(self: Any, low: int, high: int, generator: Any) -> Any:
    if low >= high:
        raise ShapeError(f"random_(): expects 'from' to be less than 'to', but got from={low} >= to={high}")
    for name, value in (("from", low), ("to - 1", high - 1)):
        least = 0 if self.dtype.kind in ("bool", "unsigned") else -(2**63)
        most = _largest(self.dtype)
        if self.dtype.is_floating_point:
            least, most = (-int(finfo(self.dtype).max), int(finfo(self.dtype).max))
        elif self.dtype.kind == "signed":
            least = int(iinfo(self.dtype).min)
        if not least <= value <= most:
            raise ValueRangeError(f"random_(): {name} = {value} is out of bounds for {self.dtype}")
        if self.dtype.is_floating_point and abs(value) > _largest(self.dtype):
            warn_user(
                f"random_(): {name} = {value} is beyond {_largest(self.dtype)}, and {self.dtype.name} lacks some "
                "integers between them\n  try: a dtype with more digits"
            )
    high = min(high, 2**63 - 1)
    drawn = ops.randint.low(
        low, high, tuple(self.shape), generator=generator, dtype=int64, device=self.device
    )
    return as_type(drawn, self.dtype)


@composite("random.from_to")
def random_from(self: Any, from_: int, to: int | None, generator: Any) -> Any:
    return _drawn(self, from_, _largest(self.dtype) + 1 if to is None else to, generator)


composite("random.to", lambda self, to, generator: _drawn(self, 0, to, generator))
composite("random", lambda self, generator: _drawn(self, 0, _largest(self.dtype) + 1, generator))
