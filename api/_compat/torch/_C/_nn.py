"""torch._C._nn: functions of layers by their names in C++, and the arguments of `Module.to`."""

from __future__ import annotations

from typing import Any

import tt
from tt.nn.modules.conversion import parse_to

__all__ = ["_parse_to"]


def _parse_to(
    *args: Any,
    device: Any = None,
    dtype: tt.dtype | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> tuple[Any, Any, bool, Any]:
    """Return device, dtype, non_blocking and memory format of the forms that `to` takes."""
    return parse_to(args, device, dtype, non_blocking, memory_format)


def __getattr__(name: str) -> Any:
    # The operators that layers call lie here in PyTorch.
    try:
        return getattr(tt.nn.functional, name)
    except AttributeError:
        return getattr(tt.ops, name)
