"""Composites that make tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tt.core.composites.helpers import as_type, check_shapes
from tt.core.dispatch.registry import ops
from tt.core.dispatch.tables import CompositeTable
from tt.core.dtype import float64
from tt.core.memory_format import is_preserve
from tt.core.promotion import get_default_dtype, result_type

composites: Final = CompositeTable()
composite = composites.composite

# --- of one value ----------------------------------------------------------------------------------------------


def _filled(value: Any) -> Callable[..., Any]:
    def filled(size: Sequence[int], dtype: Any, layout: Any, device: Any) -> Any:
        return ops.full(size, value, dtype=dtype or get_default_dtype(), layout=layout, device=device)

    return filled


composite("zeros", _filled(0))
composite("ones", _filled(1))


@composite("scalar_tensor")
def scalar_tensor(s: Any, dtype: Any, layout: Any, device: Any) -> Any:
    return ops.full((), s, dtype=dtype or get_default_dtype(), layout=layout, device=device)


@composite("empty_strided")
def empty_strided(size: Sequence[int], stride: Sequence[int], dtype: Any, layout: Any, device: Any) -> Any:
    check_shapes("empty_strided", size, stride)
    extent = 0 if 0 in size else 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    flat = ops.empty((extent,), dtype=dtype, layout=layout, device=device)
    return ops.as_strided(flat, size, stride, 0)


# --- like another tensor ---------------------------------------------------------------------------------------


def _like(self: Any, memory_format: Any, make: Callable[[tuple[int, ...]], Any]) -> Any:
    """Return a new tensor with the size and the order of dimensions in memory of another."""
    shape = tuple(self.shape)
    stride = self.stride()
    if not is_preserve(memory_format) or self.is_contiguous() or 0 in shape or 0 in stride:
        return make(shape)
    order = sorted(range(len(shape)), key=lambda d: (-stride[d], d))
    inverse = sorted(range(len(shape)), key=order.__getitem__)
    return ops.permute(make(tuple(shape[d] for d in order)), tuple(inverse))


def _options(self: Any, dtype: Any, layout: Any, device: Any) -> dict[str, Any]:
    return {"dtype": dtype or self.dtype, "layout": layout, "device": device or self.device}


@composite("empty_like")
def empty_like(self: Any, dtype: Any, layout: Any, device: Any, memory_format: Any) -> Any:
    return _like(self, memory_format, lambda size: ops.empty(size, **_options(self, dtype, layout, device)))


@composite("full_like")
def full_like(self: Any, fill_value: Any, dtype: Any, layout: Any, device: Any, memory_format: Any) -> Any:
    options = _options(self, dtype, layout, device)
    return _like(self, memory_format, lambda size: ops.full(size, fill_value, **options))


composite("zeros_like", lambda self, *options: full_like(self, 0, *options))
composite("ones_like", lambda self, *options: full_like(self, 1, *options))


@composite("new_empty")
def new_empty(self: Any, size: Sequence[int], dtype: Any, layout: Any, device: Any) -> Any:
    return ops.empty(size, **_options(self, dtype, layout, device))


@composite("new_full")
def new_full(self: Any, size: Sequence[int], fill_value: Any, dtype: Any, layout: Any, device: Any) -> Any:
    return ops.full(size, fill_value, **_options(self, dtype, layout, device))


composite("new_zeros", lambda self, size, *options: new_full(self, size, 0, *options))
composite("new_ones", lambda self, size, *options: new_full(self, size, 1, *options))

# --- of increasing numbers -------------------------------------------------------------------------------------


def _range(start: Any, end: Any, dtype: Any, layout: Any, device: Any) -> Any:
    return ops.arange.start_step(start, end, 1, dtype=dtype, layout=layout, device=device)


composite("arange", lambda end, *options: _range(0, end, *options))
composite("arange.start", lambda start, end, *options: _range(start, end, *options))


@composite("linspace")
def linspace(start: Any, end: Any, steps: int, dtype: Any, layout: Any, device: Any) -> Any:
    check_shapes("linspace", start, end, steps)
    found = dtype or result_type(result_type(start, end), 1.0)
    place = ops.arange.default(steps, dtype=float64, layout=layout, device=device)
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    # From both ends, so that the last number is exact.
    up = ops.add(ops.mul(place, step), start)
    down = ops.sub(end + ops.mul(place, 0), ops.mul(ops.sub(place, steps - 1), -step))
    return as_type(ops.where.default(ops.lt(place, (steps + 1) // 2), up, down), found)


@composite("eye")
def eye(n: int, m: int | None, dtype: Any, layout: Any, device: Any) -> Any:
    check_shapes("eye", n, m)
    rows = ops.arange.default(n, layout=layout, device=device)
    columns = ops.arange.default(n if m is None else m, layout=layout, device=device)
    return as_type(ops.eq(ops.unsqueeze(rows, 1), columns), dtype or get_default_dtype())
