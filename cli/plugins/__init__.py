"""The commands about plugins."""

from __future__ import annotations

from tt.cli.plugins.app import app

__all__ = ["app"]
