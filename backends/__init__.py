"""Devices and array libraries: each backend is a plugin with kernels for them."""
