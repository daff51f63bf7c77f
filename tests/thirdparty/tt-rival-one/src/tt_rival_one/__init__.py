"""Package one of two that bring the same."""
