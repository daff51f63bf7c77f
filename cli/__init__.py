"""The command `tt`."""
