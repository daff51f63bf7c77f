"""`tt run` and `python -m tt.distributed.run`: start a program several times, on one machine or many."""

from __future__ import annotations

from tt.distributed.run.launch import main
from tt.distributed.run.options import parse_args

__all__ = ["main", "parse_args"]
