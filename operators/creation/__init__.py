"""New tensors of a size, or like another."""
