"""torch._higher_order_ops: operators that take functions, those that tt has."""

from __future__ import annotations

from tt import cond, while_loop

__all__ = ["cond", "while_loop"]
