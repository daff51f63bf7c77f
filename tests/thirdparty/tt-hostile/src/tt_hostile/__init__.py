"""Plugins that would change what other programs compute."""
