"""torch._dynamo.eval_frame: the class of compiled modules, of which there are none."""

from __future__ import annotations

from typing import Any

from tt import nn
from tt.compiler import disable as disable
from tt.errors import UnsupportedError

__all__ = ["OptimizedModule", "disable", "innermost_fn", "is_dynamo_supported"]


class OptimizedModule(nn.Module):
    """What `torch.compile` makes of a module in PyTorch: nothing is an instance of it."""

    def __init__(self, mod: nn.Module, dynamo_ctx: Any = None) -> None:
        raise UnsupportedError("torch._dynamo.OptimizedModule(): tt has no compiler yet")


def is_dynamo_supported() -> bool:
    """Return False: there is no compiler."""
    return False


def innermost_fn(fn: Any) -> Any:
    """Return the function: nothing wraps it."""
    return fn
