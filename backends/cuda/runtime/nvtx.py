"""NVTX: ranges and marks that NVIDIA's profilers show, and one range for each operator."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from tt.backends.cuda.runtime.interface import backend
from tt.core.library import Mode, TensorBase

__all__ = ["emit_nvtx", "mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _nvtx() -> Any:
    return backend().library().cuda.nvtx


class _Depth:
    """The number of open ranges in this process; CuPy does not report it."""

    count = 0


def range_push(msg: str) -> int:
    """Open a range; return how many were open before.

    Raises
    ------
    DeviceError
        Here and below: when CUDA cannot be used.
    """
    _nvtx().RangePush(msg)
    _Depth.count += 1
    return _Depth.count - 1


def range_pop() -> int:
    """Close the innermost range; return how many are open then."""
    _nvtx().RangePop()
    _Depth.count -= 1
    return _Depth.count


def range_start(msg: str) -> int:
    """Open a range that another thread may close; return its number."""
    return int(_nvtx().RangeStart(msg))


def range_end(range_id: int) -> None:
    """Close a range of `range_start`."""
    _nvtx().RangeEnd(range_id)


def mark(msg: str) -> None:
    """Mark a point in time."""
    _nvtx().Mark(msg)


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Open a range in a `with` block, or around a function; the message is formatted with the other arguments."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()


class emit_nvtx(Mode):  # noqa: N801 - PyTorch's name
    """Open a range for every operator that this thread calls inside a `with` block.

    Parameters
    ----------
    enabled : bool
        False: do nothing.
    record_shapes : bool
        Write the sizes of the tensors into the names of the ranges.
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes, self._ranges = enabled, record_shapes, None

    def __enter__(self) -> emit_nvtx:
        if self.enabled:
            # Looked up once: `handle` runs in every call of an operator.
            self._ranges = _nvtx()
            super().__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.enabled:
            super().__exit__(kind, error, trace)

    def handle(self, overload: Any, args: tuple[Any, ...]) -> Any:
        """Put a range around a call."""
        name = f"tt::{overload.name}"
        if self.record_shapes:
            sizes = [list(value.shape) if isinstance(value, TensorBase) else [] for value in args]
            name += f", sizes = {sizes}"
        ranges: Any = self._ranges
        ranges.RangePush(name)
        try:
            return overload.dispatch(args)
        finally:
            ranges.RangePop()
