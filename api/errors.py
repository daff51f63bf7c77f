"""tt.errors: every exception that tt raises on purpose."""

from __future__ import annotations

from tt.core.errors import *  # noqa: F403 - the list of names is the module's own __all__
from tt.core.errors import __all__

__all__ = __all__
