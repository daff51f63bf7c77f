"""tt.autograd.profiler: ranges for the profilers of devices, and the older names of `tt.profiler`."""

from tt.backends.cuda.runtime.nvtx import emit_nvtx as emit_nvtx
from tt.profiler import kineto_available as kineto_available
from tt.profiler import profile as profile
from tt.profiler import record_function as record_function

__all__ = ["emit_nvtx", "kineto_available", "profile", "record_function"]
