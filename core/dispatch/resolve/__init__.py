"""From the keys and dtypes of a call to the kernel that serves it, once for each combination."""
