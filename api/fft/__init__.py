"""tt.fft: discrete Fourier transforms.

Examples
--------
>>> import tt
>>> tt.fft.rfft(tt.tensor([1.0, 2.0, 3.0, 4.0]))
tensor([10.+0.j, -2.+2.j, -2.+0.j])
"""

from __future__ import annotations

import sys

from tt._compat.reasons import reason as _reason
from tt.core.lazy import show_whole
from tt.core.methods.namespaces import namespace

__getattr__, __dir__ = namespace("fft", reason=_reason)
show_whole(sys.modules[__name__])
