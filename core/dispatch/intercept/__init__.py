"""What sees a call before its kernel does: layers, modes and `__tt_function__`."""
