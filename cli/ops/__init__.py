"""`tt ops`: the operators, who serves them, and whether all is as it should be."""

from __future__ import annotations

from tt.cli.ops.app import app

__all__ = ["app"]
