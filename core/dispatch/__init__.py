"""The two-level dispatcher."""
