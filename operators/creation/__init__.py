"""creation."""
