"""The formulas of tt's operators: one table for each family."""

from tt.plugins.autograd.formulas.families import FormulaFamilies, tables

__all__ = ["FormulaFamilies", "tables"]
