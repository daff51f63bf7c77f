"""Activation functions, and softmax."""
