"""tt.cuda.streams: streams and events, which are those of `tt.cuda`."""

from tt.core.host.lazy_names import lazy_names

_SHARED = (
    "Event",
    "ExternalStream",
    "Stream",
)

__all__ = [*_SHARED]

__getattr__, __dir__ = lazy_names("tt.cuda.streams", dict.fromkeys(_SHARED, "tt.cuda"))
