"""Native decompositions of matrices."""
