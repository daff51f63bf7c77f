"""JAX's arrays as a backend of tt."""
