"""sorting."""
