"""What `Tensor` offers besides its operators."""
