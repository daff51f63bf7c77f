"""Names of `tt` that only programs written for PyTorch need."""
