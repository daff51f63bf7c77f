"""Structural operators of sparse tensors, over the tensors of their components: they serve every device."""
