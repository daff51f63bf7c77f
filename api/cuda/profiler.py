"""tt.cuda.profiler: which part of a program NVIDIA's profilers record."""

from tt.backends.cuda.profiling import profile as profile
from tt.backends.cuda.profiling import start as start
from tt.backends.cuda.profiling import stop as stop

__all__ = ["profile", "start", "stop"]
