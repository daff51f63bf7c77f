"""tt.cuda.streams: streams and events, which are those of `tt.cuda`."""

from typing import Any

_SHARED = (
    "Event",
    "ExternalStream",
    "Stream",
)

__all__ = [*_SHARED]


def __getattr__(name: str) -> Any:
    import tt.cuda

    if name not in __all__:
        raise AttributeError(f"module 'tt.cuda.streams' has no attribute {name!r}")
    return getattr(tt.cuda, name)


def __dir__() -> list[str]:
    return __all__
