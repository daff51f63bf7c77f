"""tt.library: what the author of a plugin, backend, layer or operator imports."""

from __future__ import annotations

from tt.backends.array_api import ArrayApiBackend
from tt.core.library import *  # noqa: F403 - the list of names is the module's own __all__
from tt.core.library import __all__ as _names

__all__ = [*_names, "ArrayApiBackend"]
