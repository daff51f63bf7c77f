"""Stores: through them ranks find each other."""

from __future__ import annotations

from tt.distributed.stores.store import Store

__all__ = ["Store"]
