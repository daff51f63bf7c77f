"""Products of matrices and vectors, distances, and functions of matrices."""
