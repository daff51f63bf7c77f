"""Plugins: finding, loading and choosing between them."""
