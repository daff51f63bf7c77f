"""_samples."""
