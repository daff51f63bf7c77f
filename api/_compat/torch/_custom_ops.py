"""torch._custom_ops: the older names of tt.library's functions."""

from __future__ import annotations

from typing import Any

import tt

__all__ = ["get_ctx"]


def get_ctx() -> Any:
    """Return the context of the fake implementation that runs; see `tt.library.get_ctx`."""
    return tt.library.get_ctx()
