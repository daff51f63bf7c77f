"""PowerSGD: gradients travel as products of two thin matrices.

"PowerSGD: Practical Low-Rank Gradient Compression for Distributed Optimization", Vogels, Karimireddy, Jaggi, 2019.
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Sequence
from typing import Any, Final

import tt
from tt import Tensor
from tt.distributed import collectives, ranks
from tt.distributed.algorithms.ddp_comm_hooks.default_hooks import average
from tt.distributed.algorithms.ddp_comm_hooks.deferred import Deferred
from tt.distributed.process_group import ProcessGroup
from tt.distributed.reducer import GradBucket
from tt.futures import Future

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]

_log: Final = logging.getLogger(__name__)


class PowerSGDState:
    """What `powerSGD_hook` and `batched_powerSGD_hook` keep between steps.

    Parameters
    ----------
    process_group : ProcessGroup or None
        The ranks; None means all.
    matrix_approximation_rank : int
        The rank r of the approximation: an n x m matrix travels as r (n + m) numbers.
    start_powerSGD_iter : int
        How many steps send whole gradients first, while these change fast.
    min_compression_rate : float
        Matrices travel whole unless they get smaller by more than this factor.
    use_error_feedback : bool
        Whether the error of the approximation is added to the next gradient; without it training may not converge.
    warm_start : bool
        Whether a step starts with the matrices of the step before, which makes the approximation better from step to
        step.
    orthogonalization_epsilon : float
        Columns are made orthogonal by QR if it is 0; otherwise by Gram and Schmidt, and it is added to the norms.
    random_seed : int
        The seed of the first matrices; the same on all ranks.
    compression_stats_logging_frequency : int
        After how many steps the compression is logged.
    batch_tensors_with_same_shape : bool
        Whether matrices of one shape are multiplied together.

    Raises
    ------
    ValueError
        ``start_powerSGD_iter`` is too small for ``use_error_feedback`` and ``warm_start``, or a number is not positive.

    Examples
    --------
    >>> from tt.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState
    >>> PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=100).iter
    0
    """

    def __init__(
        self,
        process_group: ProcessGroup | None,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD "
                "can only be applied after the first two iterations in DDP."
            )
        if matrix_approximation_rank < 1 or compression_stats_logging_frequency < 1:
            raise ValueError(
                "PowerSGDState: matrix_approximation_rank and compression_stats_logging_frequency must be positive, "
                f"got {matrix_approximation_rank} and {compression_stats_logging_frequency}"
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback = use_error_feedback
        self.warm_start = warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = random.Random(random_seed)
        self.error_dict: dict[int, Tensor] = {}
        """The error of the last approximation, by the number of a bucket."""
        self.p_memory_dict: dict[int, list[Tensor]] = {}
        self.q_memory_dict: dict[int, list[Tensor]] = {}
        """By the number of a bucket: the factors of its matrices."""
        self.iter = 0
        self.total_numel_before_compression = 0
        self.total_numel_after_compression = 0
        self.compression_stats_logging_frequency = compression_stats_logging_frequency
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the group, which belongs to this process."""
        return {name: value for name, value in self.__dict__.items() if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the group of all ranks."""
        self.__dict__.update(state, process_group=None)

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a step, at its last bucket."""
        if not bucket.is_last():
            return
        self.iter += 1
        if self.iter == self.start_powerSGD_iter:
            _log.info("Start to apply PowerSGD after %s iterations.", self.iter)
        if self.iter > self.start_powerSGD_iter and not self.iter % self.compression_stats_logging_frequency:
            rate, before, after = self.compression_stats()
            _log.info("Compression rate: %.2f (%s numbers before, %s after).", rate, before, after)

    def compression_stats(self) -> tuple[float, int, int]:
        """Return the factor by which gradients got smaller, and their elements before and after compression."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return before / after if after else 0.0, before, after


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Average gradients approximately: each matrix as the product of two thin ones.

    A gradient of several dimensions is a matrix M of ``shape[0]`` rows.  All ranks start with the same Q; they add up
    P = M Q, make its columns orthogonal, and average Q = M.T P; the gradient is P Q.T.  What is missing is added to the
    next gradient (error feedback).  Vectors, and matrices that would not get small enough, are averaged as they are,
    in the message that has the matrices P.

    Parameters
    ----------
    state : PowerSGDState
        The options, and the state that is kept between steps.
    bucket : GradBucket
        The gradients.

    Examples
    --------
    >>> import tt
    >>> from tt.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
    >>> def train():
    ...     model = tt.nn.parallel.DistributedDataParallel(tt.nn.Linear(64, 32))
    ...     state = power.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2)
    ...     model.register_comm_hook(state, power.powerSGD_hook)
    ...     for _ in range(4):
    ...         model(tt.randn(8, 64)).square().mean().backward()
    ...     return state.compression_stats()
    >>> tt.distributed.run_threads(train, 2)[0]      # in each of two steps 2048 + 32 numbers as 64 + 32 + 32
    (16.25, 4160, 256)
    """
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return _whole(state, bucket)
    whole: list[Tensor] = []
    matrices: dict[Any, list[Tensor]] = {}
    for index, gradient in enumerate(bucket.gradients()):
        matrix = gradient.view(gradient.shape[0], -1) if gradient.dim() > 1 and gradient.numel() else None
        if matrix is None or not _smaller(matrix, state):
            whole.append(gradient)
        else:
            kind = tuple(matrix.shape) if state.batch_tensors_with_same_shape else index
            matrices.setdefault(kind, []).append(matrix)
    return _compressed(state, bucket, bucket.buffer(), whole, list(matrices.values()))


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Average gradients approximately, all of a bucket as one square matrix.

    It is faster than `powerSGD_hook`, and usually less exact, since the rows of the matrix have no meaning.

    Parameters
    ----------
    state : PowerSGDState
        The options, and the state that is kept between steps.
    bucket : GradBucket
        The gradients.
    """
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return _whole(state, bucket)
    buffer = bucket.buffer()
    side = math.ceil(math.sqrt(buffer.numel()))
    padded = tt.nn.functional.pad(buffer, (0, side * side - buffer.numel()))
    future = _compressed(state, bucket, padded, [], [[padded.view(side, side)]])
    return future.then(lambda done: buffer.copy_(done.value()[: buffer.numel()]))


def _whole(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    future: Future[Tensor] = average(bucket.buffer(), state.process_group)
    return future


def _smaller(matrix: Tensor, state: PowerSGDState) -> bool:
    """Return whether the factors are enough smaller than a matrix."""
    rows, columns = matrix.shape
    rank = min(rows, columns, state.matrix_approximation_rank)
    return (rows + columns) * rank * state.min_compression_rate < rows * columns


def _compressed(
    state: PowerSGDState, bucket: GradBucket, buffer: Tensor, whole: list[Tensor], groups: list[list[Tensor]]
) -> Future[Tensor]:
    """Average tensors and approximate matrices, both views of a buffer; see Note [Rounds of a hook]."""
    index, size = bucket.index(), ranks.get_world_size(state.process_group)
    error = None
    if state.use_error_feedback:
        before = state.error_dict.get(index)
        # The reducer makes its buckets anew after the first pass: an error of other sizes belongs to none
        # of these.
        if before is not None and before.shape == buffer.shape:
            buffer.add_(before)
        error = buffer.clone()
    batches = [tt.stack(group) if len(group) > 1 else group[0].unsqueeze(0) for group in groups]
    right = _first_factors(state, index, batches)
    left = [batch @ factor for batch, factor in zip(batches, right, strict=True)]
    # What travels whole goes in the message of the first round, which saves a message.
    first = tt.cat([buffer.new_empty(0), *(tensor.reshape(-1) for tensor in (*whole, *left))]).div_(size)
    state.total_numel_before_compression += bucket.buffer().numel()
    state.total_numel_after_compression += first.numel() + sum(factor.numel() for factor in right)
    work = collectives.all_reduce(first, group=state.process_group, async_op=True)
    state.maybe_increase_iter(bucket)

    def finish() -> Tensor:
        if work is not None:
            work.wait()
        means = _divided(first, [*whole, *left])
        # Averaged P is the same on all ranks, so its basis is, too, and the averages of Q fit to it.
        ps = [_orthogonal(p, state.orthogonalization_epsilon) for p in means[len(whole) :]]
        # Q = M^T P is the projection of this rank's matrix on that basis.
        flat = [(batch.mT @ p).reshape(-1) for batch, p in zip(batches, ps, strict=True)]
        second = tt.cat([buffer.new_empty(0), *flat]).div_(size)
        if flat:
            collectives.all_reduce(second, group=state.process_group)
        qs = _divided(second, right)
        for group, p, q in zip(groups, ps, qs, strict=True):
            for matrix, product in zip(group, p @ q.mT, strict=True):
                matrix.copy_(product)
        if error is not None:
            # Of tensors that travel whole nothing is missing: they are replaced below.
            state.error_dict[index] = error.sub_(buffer)
        for tensor, mean in zip(whole, means, strict=False):
            tensor.copy_(mean)
        if state.warm_start:
            state.p_memory_dict[index], state.q_memory_dict[index] = ps, qs
        return buffer

    return Deferred(finish)


def _first_factors(state: PowerSGDState, index: int, batches: Sequence[Tensor]) -> list[Tensor]:
    """Return the matrices Q that a step starts with: those of the last one, or random ones, the same on all ranks."""
    shapes = [
        (len(batch), batch.shape[2], min(*batch.shape[1:], state.matrix_approximation_rank))
        for batch in batches
    ]
    kept = state.q_memory_dict.get(index)
    if not state.warm_start or kept is None or [tuple(q.shape) for q in kept] != shapes:
        # All ranks draw from `rng` at the same buckets, so they get the same seeds.
        generator = tt.Generator().manual_seed(state.rng.getrandbits(31))
        kept = [
            tt.randn(shape, generator=generator, dtype=tt.float32).to(batch.device, batch.dtype)
            for shape, batch in zip(shapes, batches, strict=True)
        ]
    return [_orthogonal(q, state.orthogonalization_epsilon) for q in kept]


def _divided(flat: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Return the pieces of a tensor, in the shapes of others."""
    pieces = flat.split([tensor.numel() for tensor in like]) if like else ()
    return [piece.view(tensor.shape) for piece, tensor in zip(pieces, like, strict=True)]


def _orthogonal(matrices: Tensor, epsilon: float) -> Tensor:
    """Return matrices whose columns span the same space, and are orthogonal and of length one."""
    # In halves the columns would be orthogonal to three digits only.
    wide = matrices if matrices.dtype in (tt.float32, tt.float64) else matrices.float()
    if epsilon == 0:
        return tt.linalg.qr(wide)[0].to(matrices.dtype)
    # Gram-Schmidt: epsilon keeps columns of zeros from a division by zero, as PyTorch does it.
    done: list[Tensor] = []
    for column in wide.split(1, dim=-1):
        for earlier in done:
            column = column - earlier * (earlier * column).sum(dim=-2, keepdim=True)
        done.append(column / (tt.linalg.vector_norm(column, dim=-2, keepdim=True) + epsilon))
    return tt.cat(done, dim=-1).to(matrices.dtype)
