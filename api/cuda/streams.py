"""tt.cuda.streams: streams and events, which are those of `tt.cuda`."""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {
        "tt.cuda": "Event ExternalStream Stream",
    },
)
