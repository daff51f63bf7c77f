"""shaping."""
