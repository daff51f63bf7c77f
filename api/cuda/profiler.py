"""tt.cuda.profiler: which part of a program NVIDIA's profilers record."""

from tt.backends.cuda.runtime.profiling import profile as profile
from tt.backends.cuda.runtime.profiling import start as start
from tt.backends.cuda.runtime.profiling import stop as stop

__all__ = ["profile", "start", "stop"]
