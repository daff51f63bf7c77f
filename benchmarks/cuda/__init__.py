"""Benchmarks and checks for a machine with an NVIDIA GPU: `python -m benchmarks.cuda.verify` runs them all."""
