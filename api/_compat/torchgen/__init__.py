"""torchgen: PyTorch's generator of code, of which tt has nothing: `ops.yaml` is its source of operators."""
