"""NVIDIA GPUs through CuPy.  Nothing here imports CuPy before a CUDA device is used."""

from tt.backends.cuda.runtime.settings import cudnn, matmul

__all__ = ["cudnn", "matmul"]
