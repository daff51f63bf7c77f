"""Activation functions on CUDA."""
