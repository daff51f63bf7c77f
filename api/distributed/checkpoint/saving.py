"""save, async_save and load: state dicts of many ranks in one folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import tt
from tt import Tensor
from tt.distributed import collectives, objects, ranks, world
from tt.distributed.checkpoint.layout import CheckpointError, Chunk, Entry, Index
from tt.distributed.checkpoint.places import Place, place_of
from tt.distributed.checkpoint.reading import Reader
from tt.distributed.fsdp.sharded_parameter import ShardedParameter, ShardedTensor
from tt.distributed.process_group import ProcessGroup

__all__ = ["async_save", "load", "save"]

_OBJECTS = "objects.tt"


def save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str],
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
) -> None:
    """Save a state dict; all ranks call it.

    Each rank writes its parts into a file of its own; tensors that all ranks have are divided among them.  The folder
    gets its name when all ranks are done: a job that is killed leaves the checkpoint that was there before.

    Parameters
    ----------
    state_dict : mapping
        Tensors, `ShardedTensor` objects, and what `tt.save` saves otherwise, also in dicts and lists of dicts.
    checkpoint_id : str or os.PathLike
        The folder, on a file system that all ranks see; or a URL of an object store that fsspec reaches
        (``s3://bucket/step-1``, ``memory://step-1``), whose index is written last.
    process_group : ProcessGroup, optional
        The ranks; by default all, or this process alone where there is no group.
    no_dist : bool
        Whether this process saves alone.

    Raises
    ------
    CheckpointError
        A rank could not write; each of them raises.

    Examples
    --------
    >>> import os, tempfile
    >>> import tt
    >>> from tt.distributed import checkpoint
    >>> model, folder = tt.nn.Linear(2, 1), os.path.join(tempfile.mkdtemp(), "step-1")
    >>> checkpoint.save({"model": model.state_dict()}, checkpoint_id=folder)
    >>> sorted(os.listdir(folder))
    ['index.json', 'objects.tt', 'rank-00000.safetensors']
    """
    job = _Job(process_group, no_dist)
    _write(job, *_parts(state_dict, job), place_of(checkpoint_id))


def async_save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str],
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
) -> Future[None]:
    """Copy a state dict now, and save it in the background; see `save`.

    Its communication is that of the group: give it a group of its own (`new_group`) where training goes on meanwhile.

    Returns
    -------
    concurrent.futures.Future
        Its `result()` waits, and raises what went wrong.
    """
    job = _Job(process_group, no_dist)
    tensors, others = _parts(state_dict, job)
    # Training goes on and changes the tensors while they are written.
    copies = {name: (part.clone(), *rest) for name, (part, *rest) in tensors.items()}
    pool = ThreadPoolExecutor(1, thread_name_prefix="tt-checkpoint")
    # The thread must be the same rank as its caller, whose world belongs to a thread.
    future = pool.submit(job.world.run, _write, job, copies, others, place_of(checkpoint_id))
    pool.shutdown(wait=False)
    return future


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str],
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
) -> None:
    """Load a checkpoint into a state dict; all ranks call it.

    Tensors are filled in place: each rank reads the rows that it has, however many ranks have written them.  What are
    no tensors is replaced.

    Parameters
    ----------
    state_dict : dict
        As to `save`, with the tensors to be filled.
    checkpoint_id : str or os.PathLike
        The folder, or a URL as to `save`.
    process_group, no_dist
        As to `save`.

    Raises
    ------
    CheckpointError
        There is no complete checkpoint, it is damaged, a name is not in it, or a shape differs; then nothing is loaded.
    CorruptFileError
        One of its files is cut off or damaged.

    Examples
    --------
    >>> import os, tempfile
    >>> import tt
    >>> from tt.distributed import checkpoint
    >>> folder = os.path.join(tempfile.mkdtemp(), "step-1")
    >>> checkpoint.save({"x": tt.arange(3), "epoch": 7}, checkpoint_id=folder)
    >>> state = {"x": tt.zeros(3, dtype=tt.int64), "epoch": 0}
    >>> checkpoint.load(state, checkpoint_id=folder)
    >>> state
    {'x': tensor([0, 1, 2]), 'epoch': 7}
    """
    source = place_of(checkpoint_id)
    index = source.index()
    reader = Reader(source)
    others = reader.objects(index.objects)
    copies: list[tuple[Tensor, Tensor]] = []
    values: list[tuple[Any, Any, Any]] = []
    for name, holder, key, value in _leaves(state_dict):
        if isinstance(value, Tensor):
            copies += _copies(name, value, index, reader)
        elif name in others:
            values.append((holder, key, others[name]))
        else:
            raise CheckpointError(f"{source}: this checkpoint has no {name!r}")
    # Nothing is changed before all of it is known to be there.
    for rows, saved in copies:
        rows.copy_(saved)
    for holder, key, value in values:
        holder[key] = value


# --- the parts -----------------------------------------------------------------------------------------------------


class _Job:
    """Who saves."""

    def __init__(self, group: ProcessGroup | None, alone: bool) -> None:
        self.world = world.current_world()
        alone = alone or not world.is_initialized()
        self.group = None if alone else world.default_group() if group is None else group
        self.rank = 0 if alone else ranks.get_rank(self.group)
        self.size = 1 if alone else ranks.get_world_size(self.group)

    def share(self, value: object) -> list[Any]:
        """Return what each rank has."""
        if self.size == 1:
            return [value]
        shared: list[Any] = [None] * self.size
        objects.all_gather_object(shared, value, group=self.group)
        return shared

    def meet(self) -> None:
        """Wait for all ranks."""
        if self.size > 1:
            collectives.barrier(group=self.group)


def _leaves(values: Any, path: str = "") -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield name, container, key and value of every leaf."""
    pairs = values.items() if isinstance(values, Mapping) else enumerate(values)
    # `load` replaces values in the containers that this iterates over.
    for key, value in list(pairs):
        name = f"{path}.{key}" if path else str(key)
        # Groups of an optimizer are a list of dicts; other lists are values.
        if isinstance(value, Mapping) or (
            isinstance(value, list) and any(isinstance(v, Mapping) for v in value)
        ):
            yield from _leaves(value, name)
        else:
            yield name, values, key, value


def _parts(
    state_dict: Mapping[str, Any], job: _Job
) -> tuple[dict[str, tuple[Tensor, list[int], int, int]], dict[str, Any]]:
    """Return the tensors that this rank writes, with the shape of the whole and their rows, and all other values."""
    tensors: dict[str, tuple[Tensor, list[int], int, int]] = {}
    others = {}
    loads = [0] * job.size
    for name, _, _, value in _leaves(state_dict):
        if isinstance(value, ShardedTensor | ShardedParameter):
            first, end = value.placement.of_rank(value.placement.rank)
            # Of ranks with the same rows one is enough.
            if end > first and value.placement.is_first:
                tensors[name] = value.to_local(), list(value.placement.shape), first, end
        elif isinstance(value, Tensor):
            # All ranks have these tensors: each goes to the rank that has least to write. The choice
            # depends on sizes and order only, so all ranks make the same one without a message.
            writer = min(range(job.size), key=loads.__getitem__)
            loads[writer] += value.numel() * value.element_size()
            if writer == job.rank:
                rows = value.shape[0] if value.ndim else 1
                tensors[name] = value.detach(), list(value.shape), 0, rows
        else:
            others[name] = value
    return tensors, others


def _write(
    job: _Job, tensors: dict[str, tuple[Tensor, list[int], int, int]], others: dict[str, Any], folder: Place
) -> None:
    error: BaseException | None = None
    started: str | None = None
    if job.rank == 0:
        try:
            started = folder.begin()
        except Exception as failure:
            error = failure
    # A failure of rank 0 arrives as None: the others go on to the exchange of outcomes, where all of them
    # raise.
    started = job.share(started)[0]
    entries: dict[str, Any] = {}
    file = f"rank-{job.rank:05d}.safetensors"
    kept = ""
    if started is not None:
        try:
            owned: set[int] = set()
            written = {}
            for name, (part, shape, first, end) in tensors.items():
                if (
                    part.layout is tt.strided
                ):  # a file says nothing of shared memory, and refuses other layouts
                    memory = part.untyped_storage().data_ptr()
                    # safetensors refuses tensors that share memory.
                    part = part.clone() if memory in owned else part
                    owned.add(memory)
                written[name] = part
                entries[name] = [str(part.dtype).rpartition(".")[2], shape, [name, first, end]]
            file = folder.save_tensors(started, file, written)
            # A place may give the file a longer name.
            for entry in entries.values():
                entry[2].insert(0, file)
            if job.rank == 0:
                kept = folder.save_objects(started, _OBJECTS, others)
        except Exception as failure:  # of any type, by an object store; the other ranks must know
            error = failure
    # The index is written only if no rank has failed, so a checkpoint is complete or not there.
    outcomes = job.share((entries, _text_of(error)))
    failed = [(rank, text) for rank, (_, text) in enumerate(outcomes) if text is not None]
    if not failed:
        if job.rank == 0 and started is not None:
            index = Index({}, kept)
            for of_rank, _ in outcomes:
                for name, (dtype, shape, chunk) in of_rank.items():
                    index.tensors.setdefault(name, Entry(dtype, shape)).chunks.append(Chunk(*chunk))
            try:
                folder.complete(started, index)
            except Exception as failure:
                error = failure
        failed = [(rank, text) for rank, text in enumerate(job.share(_text_of(error))) if text is not None]
    if failed:
        if job.rank == 0 and started is not None:
            with suppress(Exception):  # the first failure is the one to report
                folder.give_up(started)
        # No rank may begin anew before what was written is gone.
        job.meet()
        rank, text = failed[0]
        raise CheckpointError(
            f"{folder}: rank {rank} could not write its part of the checkpoint: {text}"
        ) from error


def _text_of(error: BaseException | None) -> str | None:
    return None if error is None else f"{type(error).__name__}: {error}"


def _copies(name: str, target: Tensor, index: Index, reader: Reader) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the rows that a tensor has, in parts, each with the checkpoint's parts for them."""
    entry = index.tensors.get(name)
    if entry is None:
        raise CheckpointError(f"{reader.place}: this checkpoint has no tensor {name!r}")
    if isinstance(target, ShardedTensor | ShardedParameter):
        shape = target.placement.shape
        first, end = target.placement.of_rank(target.placement.rank)
        to = target.to_local()
    else:
        shape, first, to = tuple(target.shape), 0, target.detach()
        end = target.shape[0] if target.ndim else 1
    if tuple(entry.shape) != shape:
        raise CheckpointError(
            f"{reader.place}: {name!r} has the shape {entry.shape} in this checkpoint, and {list(shape)} here"
        )
    # A tensor without dimensions is one row in the file.
    rows = to.reshape(end - first, *shape[1:]) if not shape else to
    filled = 0
    for chunk in entry.chunks:
        low, high = max(first, chunk.first), min(end, chunk.end)
        if low < high:
            saved = reader.rows(chunk, entry)
            yield rows[low - first : high - first], saved[low - chunk.first : high - chunk.first]
            filled += high - low
    if filled < end - first:
        raise CheckpointError(f"{reader.place}: rows of {name!r} are missing in this checkpoint")
