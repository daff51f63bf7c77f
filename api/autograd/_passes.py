"""What the libraries over tt learn about passes: their ends, second runs of checkpoints, hooks on saved tensors."""

from __future__ import annotations

from tt.plugins.autograd.backward.multi_hooks import queue_callback, watch_passes, when_pass_ends
from tt.plugins.autograd.features.checkpoint import recompute_within
from tt.plugins.autograd.features.saved_hooks import innermost_hooks

__all__ = ["innermost_hooks", "queue_callback", "recompute_within", "watch_passes", "when_pass_ends"]
