"""Checkpoints that many ranks write, and that any number of ranks reads."""

from __future__ import annotations

from tt.distributed.checkpoint.layout import CheckpointError
from tt.distributed.checkpoint.saving import async_save, load, save

__all__ = ["CheckpointError", "async_save", "load", "save"]
