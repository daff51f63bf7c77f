"""`tt.utils.data.pin_memory` at PyTorch's path."""

from __future__ import annotations

from tt.utils.data.pin_memory import pin_memory

__all__ = ["pin_memory"]
