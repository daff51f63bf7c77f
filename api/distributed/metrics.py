"""Results of all ranks for metrics: each sample once, in the order of the sampler."""

from __future__ import annotations

from typing import Any

from tt import Tensor
from tt.distributed.checks import member
from tt.distributed.gathering import all_gather_single
from tt.distributed.objects import all_gather_object
from tt.distributed.process_group import ProcessGroup
from tt.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

__all__ = ["gather_for_metrics"]


def gather_for_metrics(
    input_data: object,
    sampler: Any,
    *,
    start: int = 0,
    group: ProcessGroup | None = None,
    use_gather_object: bool = False,
) -> Any:
    """Gather the results of all ranks, without those of samples that `DistributedSampler` repeats.

    A `DistributedSampler` gives all ranks the same number of samples, and repeats some where the dataset does not
    divide.  Metrics that count these twice are wrong.  This function gathers the ranks' results, restores the
    order of the sampler (without ``shuffle`` that of the dataset), and drops the repeated samples.

    Parameters
    ----------
    input_data : Tensor, or nested tuples, lists and dicts
        Results of one batch, or of all batches of an epoch one after the other.  The first dimension of each tensor
        counts samples, and is the same on all ranks.  A list without tensors holds one object for each sample.
    sampler : DistributedSampler
        The sampler whose samples these are.
    start : int
        How many samples of this rank came before: ``i * batch_size`` in batch number i.
    group : ProcessGroup, optional
        The ranks between which the sampler divides; by default all.
    use_gather_object : bool
        Whether ``input_data`` is a list with one object for each sample, also where these hold tensors.

    Returns
    -------
    The same structure on all ranks: tensors without gradients, whose first dimension counts the samples of all ranks,
    and lists of objects.

    Raises
    ------
    ValueError
        The sampler divides between other ranks, there are more samples than it gives, or their numbers differ.
    TypeError
        There is something else than tensors and lists of objects.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> data = tt.arange(5)
    >>> def program():
    ...     sampler = tt.utils.data.DistributedSampler(data, shuffle=False)
    ...     found = []
    ...     for i, x in enumerate(tt.utils.data.DataLoader(data, batch_size=2, sampler=sampler)):
    ...         found.append(dist.gather_for_metrics(10 * x, sampler, start=2 * i))
    ...     return tt.cat(found)
    >>> dist.run_threads(program, 2)[1]
    tensor([ 0, 10, 20, 30, 40])
    """
    process_group = member(group, "gather_for_metrics")
    if process_group is None:
        return None
    if (sampler.num_replicas, sampler.rank) != (process_group.size(), process_group.rank()):
        raise ValueError(
            f"gather_for_metrics: the sampler is that of rank {sampler.rank} of {sampler.num_replicas}, and this is "
            f"rank {process_group.rank()} of {process_group.size()} in the group"
        )
    if use_gather_object and not isinstance(input_data, list):
        raise TypeError(
            f"gather_for_metrics: with use_gather_object=True, expected a list of objects, got "
            f"{type(input_data).__name__}"
        )
    leaves, spec = tree_flatten(input_data, lambda value: use_gather_object or _is_objects(value))
    count = _samples(leaves)
    if not 0 <= start <= start + count <= sampler.num_samples:
        raise ValueError(
            f"gather_for_metrics: {count} samples after the first {start} are more than the {sampler.num_samples} "
            "that the sampler gives each rank"
        )
    # The sampler repeats samples at the end, so that all ranks have as many; those are left out.
    kept = min(len(sampler.dataset), sampler.total_size) - start * process_group.size()
    kept = max(0, min(kept, count * process_group.size()))
    return tree_unflatten([_gathered(leaf, process_group)[:kept] for leaf in leaves], spec)


def _is_objects(value: object) -> bool:
    return isinstance(value, list) and not any(isinstance(leaf, Tensor) for leaf in tree_leaves(value))


def _samples(leaves: list[Any]) -> int:
    """Return how many samples the leaves have; raise unless all have the same number."""
    counts = set()
    for leaf in leaves:
        if not isinstance(leaf, Tensor | list):
            raise TypeError(
                f"gather_for_metrics: expected tensors and lists of objects, got {type(leaf).__name__}"
            )
        if isinstance(leaf, Tensor) and not leaf.dim():
            raise ValueError(
                "gather_for_metrics: a tensor of no dimension has no samples\n  try: results that are not reduced"
            )
        counts.add(len(leaf))
    if len(counts) > 1:
        raise ValueError(
            f"gather_for_metrics: the numbers of samples differ: {', '.join(map(str, sorted(counts)))}"
        )
    return counts.pop() if counts else 0


def _gathered(leaf: Any, group: ProcessGroup) -> Any:
    """Return the samples of all ranks in turn, as the sampler deals them."""
    size = group.size()
    if isinstance(leaf, list):
        rows: list[Any] = [None] * size
        all_gather_object(rows, leaf, group=group)
        if len({len(row) for row in rows}) > 1:
            raise ValueError(
                f"gather_for_metrics: the ranks have different numbers of samples: {[len(row) for row in rows]}"
            )
        return [value for together in zip(*rows, strict=True) for value in together]
    own = leaf.detach().contiguous()
    both = own.new_empty((size, *own.shape))
    all_gather_single(both, own, group=group)
    # The sampler deals in turns: sample i is on rank i modulo the number of ranks.
    return both.transpose(0, 1).reshape(size * len(own), *own.shape[1:])
