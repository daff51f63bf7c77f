"""tt.amp: automatic mixed precision; see docs/amp.md."""

from __future__ import annotations

from tt.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from tt.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
