"""tt.autograd.profiler: ranges for the profilers of devices."""

from tt.backends.cuda.runtime.nvtx import emit_nvtx as emit_nvtx

__all__ = ["emit_nvtx"]
