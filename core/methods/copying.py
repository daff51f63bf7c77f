"""The names that pickles of earlier versions give to the functions that rebuild tensors and storages."""

from __future__ import annotations

from tt.core.methods.memory.pickling import rebuild_storage, rebuild_tensor

__all__ = ["rebuild_storage", "rebuild_tensor"]
