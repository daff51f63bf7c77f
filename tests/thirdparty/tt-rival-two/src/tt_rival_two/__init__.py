"""Package two of two that bring the same."""
