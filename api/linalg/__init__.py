"""tt.linalg: linear algebra.

Examples
--------
>>> import tt
>>> tt.linalg.inv(tt.tensor([[2.0, 0.0], [0.0, 4.0]]))
tensor([[0.5000, 0.0000],
        [0.0000, 0.2500]])
"""

from __future__ import annotations

import sys

from tt._compat.reasons import reason as _reason
from tt.core.errors import LinAlgError as LinAlgError
from tt.core.lazy import show_whole
from tt.core.methods.namespaces import namespace

__getattr__, __dir__ = namespace("linalg", reason=_reason)
show_whole(sys.modules[__name__])
