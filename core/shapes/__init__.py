"""Shape rules: the shape, strides and offset of every operator's results."""

from tt.core.shapes.registry import Outcome, Result, RuleTable, ShapeRule, find_rule, rules

__all__ = ["Outcome", "Result", "RuleTable", "ShapeRule", "find_rule", "rules"]
