"""The commands that write packages for tt."""

from __future__ import annotations

from tt.cli.new.app import app

__all__ = ["app"]
