"""Hooks that average gradients, as they are or in fewer bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tt
from tt import Tensor
from tt.distributed import collectives, ranks
from tt.distributed.process_group import ProcessGroup
from tt.distributed.reducer import GradBucket
from tt.futures import Future

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]

Hook = Callable[[Any, GradBucket], Any]


def average(tensor: Tensor, group: ProcessGroup | None) -> Any:
    """Return a Future of the ranks' average, in place."""
    # Divided before the sum, which could overflow in a small dtype.
    tensor.div_(ranks.get_world_size(group))
    work: Any = collectives.all_reduce(tensor, group=group, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Any:
    """Average gradients, as without a hook.

    Parameters
    ----------
    process_group : ProcessGroup or None
        The ranks; None means all.
    bucket : GradBucket
        The gradients.
    """
    return average(bucket.buffer(), process_group)


def _compressed(dtype: tt.dtype, group: ProcessGroup | None, bucket: GradBucket) -> Any:
    buffer = bucket.buffer()
    future = average(buffer.to(dtype), group)
    # Into the bucket's own memory: gradients may be views of it.
    return future.then(lambda done: buffer.copy_(done.value()))


def fp16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Any:
    """Average gradients in float16: half the bytes of float32."""
    return _compressed(tt.float16, process_group, bucket)


def bf16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Any:
    """Average gradients in bfloat16: half the bytes of float32, and its range."""
    return _compressed(tt.bfloat16, process_group, bucket)


def _wrapper(dtype: tt.dtype, hook: Hook) -> Hook:
    def compressing(state: Any, bucket: GradBucket) -> Any:
        buffer = bucket.buffer()
        # The inner hook must see a bucket of the small dtype; its views follow the buffer.
        bucket.set_buffer(buffer.to(dtype))
        try:
            future: Future[Tensor] = hook(state, bucket)
        except BaseException:
            bucket.set_buffer(buffer)
            raise

        def expand(done: Future[Any]) -> Tensor:
            value = done.value()
            bucket.set_buffer(buffer)
            return buffer.copy_(value[0] if isinstance(value, list | tuple) else value)

        return future.then(expand)

    return compressing


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """Return a hook that gives another one gradients in float16."""
    return _wrapper(tt.float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """Return a hook that gives another one gradients in bfloat16."""
    return _wrapper(tt.bfloat16, hook)
