"""tt.fft: discrete Fourier transforms."""

from __future__ import annotations

from tt.core.namespaces import namespace

__getattr__, __dir__ = namespace("fft")
