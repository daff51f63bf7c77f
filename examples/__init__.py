"""Complete programs written with tt."""
