"""Views, joined and rearranged tensors."""
