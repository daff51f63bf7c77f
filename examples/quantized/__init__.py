"""Weights in eight bits: a tensor that keeps int8 numbers and one scale for each output channel."""
