"""Operators in the namespace acme."""
