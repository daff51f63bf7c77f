"""Decompositions of matrices, and solutions of equations."""
