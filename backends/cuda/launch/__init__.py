"""From layouts of arguments to launches of kernels."""
