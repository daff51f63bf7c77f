"""torch.onnx.symbolic_helper: decorators of functions that write operators as ONNX."""

from __future__ import annotations

from typing import Any

__all__ = ["parse_args", "quantized_args"]


def parse_args(*arg_descriptors: str) -> Any:
    """Return a decorator that changes nothing: nothing calls the function."""
    return lambda function: function


def quantized_args(*arg_q_descriptors: bool, **options: Any) -> Any:
    """Return a decorator that changes nothing: nothing calls the function."""
    return lambda function: function
