"""How fast tt is, as a ratio to NumPy and to PyTorch measured in the same run: `python -m benchmarks.run`."""
