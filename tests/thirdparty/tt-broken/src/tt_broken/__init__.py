"""Plugins that are broken, each in another way."""
