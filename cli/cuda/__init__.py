"""The commands about CUDA."""

from __future__ import annotations

from tt.cli.cuda.app import app

__all__ = ["app"]
