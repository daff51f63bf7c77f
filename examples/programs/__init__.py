"""Ordinary PyTorch programs with the import swapped, on data that they make themselves."""
