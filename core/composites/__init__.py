"""Operators written in other operators, one table a family."""

from tt.core.composites.tables import tables

__all__ = ["tables"]
