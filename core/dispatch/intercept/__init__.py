"""Interception of calls before the kernel: layers, modes and `__tt_function__`."""
