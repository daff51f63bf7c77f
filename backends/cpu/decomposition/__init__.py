"""Decompositions, and what follows from them."""
