"""tt.amp: the interface of automatic mixed precision, in its disabled form."""

from __future__ import annotations

from tt.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from tt.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
