"""Checks that tt ships, for its own operators and for those of third parties."""
