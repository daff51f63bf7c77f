"""Checkpointing: less memory for the backward pass, for a second run of functions."""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {
        "tt.core.errors": "CheckpointError",
        "tt.plugins.autograd.features.checkpoint": (
            "CheckpointFunction checkpoint checkpoint_sequential noop_context_fn set_checkpoint_debug_enabled "
            "set_checkpoint_early_stop"
        ),
        "tt.plugins.autograd.features.selective_checkpoint": (
            "CheckpointPolicy SelectiveCheckpointContext create_selective_checkpoint_contexts"
        ),
        "tt.utils.checkpoint_states": (
            "check_backward_validity detach_variable get_device_states set_device_states"
        ),
    },
    layer="autograd",
)
