"""What hooks learn about the backward pass that runs them; for the libraries over tt."""

from __future__ import annotations

from tt.plugins.autograd.backward.multi_hooks import watch_passes, when_pass_ends

__all__ = ["watch_passes", "when_pass_ends"]
