"""Composites that draw random numbers; they draw the same ones as kernels do (docs/design/random.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tt.core.composites.helpers import as_type
from tt.core.dispatch.registry import ops
from tt.core.dispatch.tables import CompositeTable
from tt.core.dtype import float32
from tt.core.errors import ValueRangeError

composites: Final = CompositeTable()
composite = composites.composite

# --- of a size, or like a tensor -------------------------------------------------------------------------------


@composite("randint")
def randint(high: int, size: Sequence[int], generator: Any, dtype: Any, layout: Any, device: Any) -> Any:
    return ops.randint.low(0, high, size, generator=generator, dtype=dtype, layout=layout, device=device)


@composite("rand_like")
def rand_like(self: Any, dtype: Any, layout: Any, device: Any, memory_format: Any) -> Any:
    return ops.rand(tuple(self.shape), dtype=dtype or self.dtype, layout=layout, device=device or self.device)


@composite("randn_like")
def randn_like(self: Any, dtype: Any, layout: Any, device: Any, memory_format: Any) -> Any:
    return ops.randn(
        tuple(self.shape), dtype=dtype or self.dtype, layout=layout, device=device or self.device
    )


# --- with parameters -------------------------------------------------------------------------------------------


def uniform_like(self: Any, generator: Any, dtype: Any) -> Any:
    """Return numbers between 0 and 1 in the shape of a tensor."""
    return ops.rand(tuple(self.shape), generator=generator, dtype=dtype, device=self.device)


@composite("bernoulli")
def bernoulli(self: Any, generator: Any) -> Any:
    dtype = self.dtype if self.dtype.itemsize >= 4 else float32
    return as_type(ops.lt(uniform_like(self, generator, dtype), as_type(self, dtype)), self.dtype)


@composite("bernoulli.p")
def bernoulli_p(self: Any, p: float, generator: Any) -> Any:
    if not 0 <= p <= 1:
        raise ValueRangeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return as_type(ops.lt(uniform_like(self, generator, float32), p), self.dtype)


@composite("normal")
def normal(self: Any, mean: float, std: float, generator: Any) -> Any:
    if std < 0:
        raise ValueRangeError(f"normal_ expects std >= 0.0, but found std={std}")
    drawn = ops.randn(tuple(self.shape), generator=generator, dtype=self.dtype, device=self.device)
    return ops.add(ops.mul(drawn, std), mean)


@composite("uniform")
def uniform(self: Any, from_: float, to: float, generator: Any) -> Any:
    if from_ > to:
        raise ValueRangeError(
            f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}"
        )
    return ops.add(ops.mul(uniform_like(self, generator, self.dtype), to - from_), from_)


@composite("dropout")
def dropout(self: Any, p: float, training: bool) -> Any:
    if not 0 <= p <= 1:
        raise ValueRangeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0 or not self.numel():
        return self
    if p == 1:
        return ops.mul(self, ops.zeros_like(self))
    kept = ops.bernoulli.p(ops.empty_like(self, dtype=self.dtype.to_real()), 1 - p)
    return ops.mul(self, ops.div.default(kept, 1 - p))
