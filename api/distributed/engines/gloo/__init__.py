"""The engine gloo: collectives of CPU tensors in shared memory and over sockets, without other packages."""

from tt.distributed.engines.gloo.engine import Gloo

__all__ = ["Gloo"]
