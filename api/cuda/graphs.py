"""tt.cuda.graphs: recorded kernels of CUDA, whose names are those of `tt.cuda`."""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {
        "tt.cuda": "CUDAGraph graph graph_pool_handle is_current_stream_capturing make_graphed_callables",
    },
)
