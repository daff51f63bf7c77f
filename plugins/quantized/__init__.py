"""Quantized tensors: integers that stand for real numbers by a scale and a zero point, in the layout quantized."""
