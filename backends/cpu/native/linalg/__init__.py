"""Native products of matrices, and distances between rows."""
