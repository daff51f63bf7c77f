"""Members of `Tensor` besides its operators."""
