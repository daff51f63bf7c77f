"""Batching rules of third parties, in PyTorch's form: they see the dim of the examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tt.core.library import Operator, TensorBase, errors
from tt.plugins.autograd.transforms.batching.base import BatchingRule
from tt.plugins.autograd.transforms.levels import Level, batched, unwrap

__all__ = ["BatchInfo", "in_the_open"]


@dataclass(frozen=True, slots=True)
class BatchInfo:
    """Further information for a rule.

    Attributes
    ----------
    batch_size : int
        The number of examples.
    randomness : str
        The randomness setting of `vmap`: "error", "different" or "same".
    """

    batch_size: int
    randomness: str = "error"


def in_the_open(function: Callable[..., Any]) -> BatchingRule:
    """Return the batching rule that a function in PyTorch's form is: it sees the dim of the examples.

    Parameters
    ----------
    function : callable
        `function(info, in_dims, *args)`; keyword-only arguments come as such.
    """

    def run(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
        opened = [_opened(value, level) for value in args]
        plain, named, dims = [], {}, []
        for argument, (value, dim) in zip(operator.arguments, opened, strict=True):
            if argument.keyword_only:
                named[argument.name] = value
            else:
                plain.append(value)
                dims.append(dim)
        outcome = function(BatchInfo(level.size, level.randomness), tuple(dims), *plain, **named)
        if not isinstance(outcome, tuple) or len(outcome) != 2:
            raise errors.ArgumentError(
                operator.name,
                "vmap: a batching rule returns (result, the dim of the examples in it), and this one returned "
                f"{errors.describe(outcome)}",
            )
        result, out = outcome
        if isinstance(result, tuple | list):
            closed = [
                _closed(r, out[i] if isinstance(out, tuple | list) else out, level)
                for i, r in enumerate(result)
            ]
            returns = operator.definition.signature.returns
            return operator.return_type(closed) if len(returns) > 1 else tuple(closed)
        return _closed(result, out, level)

    return run


def _opened(value: Any, level: Level) -> tuple[Any, Any]:
    """Return an argument with the dim of the examples in the open, and that dim."""
    if isinstance(value, list | tuple) and any(isinstance(item, TensorBase) for item in value):
        pairs = [unwrap(item, level) for item in value]
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return unwrap(value, level)


def _closed(value: Any, dim: Any, level: Level) -> Any:
    return value if dim is None or not isinstance(value, TensorBase) else batched(value, dim, level)
