"""What accumulates along a dimension."""
