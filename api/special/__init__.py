"""tt.special: special functions."""

from __future__ import annotations

import sys

from tt._compat.reasons import reason as _reason
from tt.core.lazy import show_whole
from tt.core.methods.namespaces import namespace

__getattr__, __dir__ = namespace("special", reason=_reason)
show_whole(sys.modules[__name__])
