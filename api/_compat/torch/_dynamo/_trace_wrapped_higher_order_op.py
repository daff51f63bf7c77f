"""torch._dynamo._trace_wrapped_higher_order_op: modes that a compiler captures."""

from __future__ import annotations

from typing import Any

from tt.overrides import TorchFunctionMode

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(TorchFunctionMode):
    """A mode in which `x[i]` with a zero-dimensional tensor `i` indexes, also below `vmap`, as tt's always does."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))
