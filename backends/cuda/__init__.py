"""NVIDIA GPUs through CuPy.  Nothing here imports CuPy before a CUDA device is used."""
