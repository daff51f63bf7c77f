"""Operators of third parties: how they are defined, and what is registered for them."""
