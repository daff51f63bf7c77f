"""What programs under a launcher use, at PyTorch's paths."""
