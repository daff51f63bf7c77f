"""Hooks that send gradients as whole numbers of eight bits."""

from __future__ import annotations

import tt
from tt import Tensor
from tt.distributed import gathering, ranks
from tt.distributed.algorithms.ddp_comm_hooks.deferred import Deferred
from tt.distributed.process_group import ProcessGroup
from tt.distributed.reducer import GradBucket
from tt.futures import Future

__all__ = ["quantization_perchannel_hook", "quantization_pertensor_hook"]

_LEVELS = 255


def quantization_pertensor_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Average gradients that are rounded to 256 values between the bucket's smallest and largest.

    All ranks send their numbers to all others, a quarter of float32's bytes for each rank; the error of a gradient is
    at most half of a step, which is a 255th of the range.

    Parameters
    ----------
    process_group : ProcessGroup or None
        The ranks; None means all.
    bucket : GradBucket
        The gradients.
    """
    return _averaged(process_group, bucket, max(1, bucket.buffer().numel()))


def quantization_perchannel_hook(
    process_group: ProcessGroup | None, bucket: GradBucket, bucket_size: int = 512
) -> Future[Tensor]:
    """Average gradients as `quantization_pertensor_hook`, with a range for every ``bucket_size`` of them.

    Parameters
    ----------
    process_group : ProcessGroup or None
        The ranks; None means all.
    bucket : GradBucket
        The gradients.
    bucket_size : int
        How many gradients share a range.
    """
    return _averaged(process_group, bucket, bucket_size)


def _averaged(group: ProcessGroup | None, bucket: GradBucket, width: int) -> Future[Tensor]:
    buffer = bucket.buffer()
    count, size = buffer.numel(), ranks.get_world_size(group)
    rows = tt.nn.functional.pad(buffer.float(), (0, -count % width)).view(-1, width)
    # Zero is one of the values, so that gradients of zero stay zero.
    lowest = rows.amin(dim=1, keepdim=True).clamp(max=0.0)
    step = (rows.amax(dim=1, keepdim=True).clamp(min=0.0) - lowest) / _LEVELS
    # A row of zeros has no range to divide by.
    step = step.clamp(min=tt.finfo(tt.float32).tiny)
    zero = (-lowest / step).round()
    codes = ((rows / step).round() + zero).clamp(0, _LEVELS).to(tt.uint8)
    scales = tt.cat([step, zero], dim=1)
    # Gathered and not summed: each rank's codes have a scale of their own.
    all_codes, all_scales = codes.new_empty((size, *codes.shape)), scales.new_empty((size, *scales.shape))
    works = [
        gathering.all_gather_single(all_scales, scales, group=group, async_op=True),
        gathering.all_gather_single(all_codes, codes, group=group, async_op=True),
    ]

    def finish() -> Tensor:
        for work in works:
            if work is not None:
                work.wait()
        steps, zeros = all_scales[..., :1], all_scales[..., 1:]
        total = ((all_codes.float() - zeros) * steps).mean(dim=0)
        return buffer.copy_(total.view(-1)[:count])

    return Deferred(finish)
