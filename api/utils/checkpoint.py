"""Checkpointing: less memory for the backward pass, for a second run of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tt.core.host.lazy_names import lazy_names

if TYPE_CHECKING:
    from tt.core.errors import CheckpointError as CheckpointError
    from tt.plugins.autograd.features.checkpoint import CheckpointFunction as CheckpointFunction
    from tt.plugins.autograd.features.checkpoint import checkpoint as checkpoint
    from tt.plugins.autograd.features.checkpoint import checkpoint_sequential as checkpoint_sequential
    from tt.plugins.autograd.features.checkpoint import noop_context_fn as noop_context_fn
    from tt.plugins.autograd.features.checkpoint import (
        set_checkpoint_debug_enabled as set_checkpoint_debug_enabled,
    )
    from tt.plugins.autograd.features.checkpoint import set_checkpoint_early_stop as set_checkpoint_early_stop
    from tt.plugins.autograd.features.selective_checkpoint import CheckpointPolicy as CheckpointPolicy
    from tt.plugins.autograd.features.selective_checkpoint import (
        SelectiveCheckpointContext as SelectiveCheckpointContext,
    )
    from tt.plugins.autograd.features.selective_checkpoint import (
        create_selective_checkpoint_contexts as create_selective_checkpoint_contexts,
    )
    from tt.utils.checkpoint_states import check_backward_validity as check_backward_validity
    from tt.utils.checkpoint_states import detach_variable as detach_variable
    from tt.utils.checkpoint_states import get_device_states as get_device_states
    from tt.utils.checkpoint_states import set_device_states as set_device_states

_CHECKPOINT: Final = "tt.plugins.autograd.features.checkpoint"
_SELECTIVE: Final = "tt.plugins.autograd.features.selective_checkpoint"
_STATES: Final = "tt.utils.checkpoint_states"
_SOURCES: Final = {
    "CheckpointError": "tt.core.errors",
    "CheckpointFunction": _CHECKPOINT,
    "CheckpointPolicy": _SELECTIVE,
    "SelectiveCheckpointContext": _SELECTIVE,
    "check_backward_validity": _STATES,
    "checkpoint": _CHECKPOINT,
    "checkpoint_sequential": _CHECKPOINT,
    "create_selective_checkpoint_contexts": _SELECTIVE,
    "detach_variable": _STATES,
    "get_device_states": _STATES,
    "noop_context_fn": _CHECKPOINT,
    "set_checkpoint_debug_enabled": _CHECKPOINT,
    "set_checkpoint_early_stop": _CHECKPOINT,
    "set_device_states": _STATES,
}

__all__ = list(_SOURCES)

__getattr__, __dir__ = lazy_names("tt.utils.checkpoint", _SOURCES, layer="autograd")
