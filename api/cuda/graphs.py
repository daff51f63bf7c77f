"""tt.cuda.graphs: recorded kernels of CUDA, whose names are those of `tt.cuda`."""

from typing import Any

_SHARED = (
    "CUDAGraph",
    "graph",
    "graph_pool_handle",
    "is_current_stream_capturing",
    "make_graphed_callables",
)

__all__ = [*_SHARED]


def __getattr__(name: str) -> Any:
    import tt.cuda

    if name not in __all__:
        raise AttributeError(f"module 'tt.cuda.graphs' has no attribute {name!r}")
    return getattr(tt.cuda, name)


def __dir__() -> list[str]:
    return __all__
