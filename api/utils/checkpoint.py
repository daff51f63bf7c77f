"""Checkpointing: less memory for the backward pass, for a second run of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.host.lazy_names import lazy_names

if TYPE_CHECKING:
    from tt.plugins.autograd.features.checkpoint import checkpoint as checkpoint
    from tt.plugins.autograd.features.checkpoint import checkpoint_sequential as checkpoint_sequential
    from tt.plugins.autograd.features.checkpoint import set_checkpoint_early_stop as set_checkpoint_early_stop

_SOURCES = {
    "checkpoint": "tt.plugins.autograd.features.checkpoint",
    "checkpoint_sequential": "tt.plugins.autograd.features.checkpoint",
    "set_checkpoint_early_stop": "tt.plugins.autograd.features.checkpoint",
}

__all__ = list(_SOURCES)

__getattr__, __dir__ = lazy_names("tt.utils.checkpoint", _SOURCES, layer="autograd")
