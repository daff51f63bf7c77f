"""Copies, and conversions of dtype, device and memory format."""
