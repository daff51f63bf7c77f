"""The speed of tt as a ratio to NumPy and PyTorch, measured in the same run: `python -m benchmarks.run`."""
