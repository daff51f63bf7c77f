"""tt.cuda.nvtx: ranges and marks that NVIDIA's profilers show."""

from tt.backends.cuda.runtime.nvtx import mark as mark
from tt.backends.cuda.runtime.nvtx import range as range
from tt.backends.cuda.runtime.nvtx import range_end as range_end
from tt.backends.cuda.runtime.nvtx import range_pop as range_pop
from tt.backends.cuda.runtime.nvtx import range_push as range_push
from tt.backends.cuda.runtime.nvtx import range_start as range_start

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]
