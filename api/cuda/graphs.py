"""tt.cuda.graphs: recorded kernels of CUDA, whose names are those of `tt.cuda`."""

from tt.core.host.lazy_names import lazy_names

_SHARED = (
    "CUDAGraph",
    "graph",
    "graph_pool_handle",
    "is_current_stream_capturing",
    "make_graphed_callables",
)

__all__ = [*_SHARED]

__getattr__, __dir__ = lazy_names("tt.cuda.graphs", dict.fromkeys(_SHARED, "tt.cuda"))
