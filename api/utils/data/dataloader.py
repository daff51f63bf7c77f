"""The loader: batches of a dataset, read in this process or by workers."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from multiprocessing.context import BaseContext
from typing import Any, Final, Generic, TypeVar

import tt
from tt.errors import ArgumentError, ValueRangeError
from tt.library import warn_user
from tt.utils.data.collate import default_collate, default_convert
from tt.utils.data.dataset import IterableDataset
from tt.utils.data.fetch import MAP, STREAM
from tt.utils.data.iteration import (
    _BaseDataLoaderIter,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)
from tt.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from tt.utils.data.worker_info import get_worker_info

__all__ = ["DataLoader", "get_worker_info"]

Element = TypeVar("Element", covariant=True)

# For annotations of libraries.
_worker_init_fn_t = Callable[[int], None]
_collate_fn_t = Callable[[list[Any]], Any]

_FIXED: Final = frozenset(
    {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}
)
"""Attributes that cannot be set later, because samplers and workers were made from them."""


class _DatasetKind:
    """The kinds of datasets, by PyTorch's names."""

    Map = MAP
    Iterable = STREAM


class _InfiniteConstantSampler(Sampler[None]):
    """The sampler of a stream: its indices mean nothing."""

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


class DataLoader(Generic[Element]):
    """An iterable over the batches of a dataset.

    Parameters
    ----------
    dataset : Dataset
        The data: anything with `__getitem__` and `__len__`, or an `IterableDataset`.
    batch_size : int, optional
        How many elements a batch has; with None, elements come one by one, without a batch dimension.
    shuffle : bool, optional
        Whether each pass has another random order.
    sampler : Sampler or iterable, optional
        Yields the indices, in place of `shuffle`.
    batch_sampler : Sampler or iterable, optional
        Yields lists of indices, in place of `batch_size`, `shuffle`, `sampler` and `drop_last`.
    num_workers : int
        How many processes read; with 0, this one does.
    collate_fn : callable, optional
        Makes a batch of a list of elements; by default `default_collate`, without batches `default_convert`.
    pin_memory : bool
        Whether tensors are put into page-locked memory, from which the accelerator copies.
    drop_last : bool
        Whether a shorter last batch is left out.
    timeout : float
        How many seconds to wait for a batch of the workers; 0 waits for ever.
    worker_init_fn : callable, optional
        Called in each worker with its number, after seeding and before reading.
    multiprocessing_context : str or BaseContext, optional
        How processes are started: "fork", "spawn", "forkserver".
    generator : Generator, optional
        Where the order and the seeds of the workers come from; by default the global generator.
    prefetch_factor : int, optional
        How many batches each worker makes ahead; 2 if there are workers.
    persistent_workers : bool
        Whether the workers stay for the next pass.
    pin_memory_device : str
        Deprecated; the current accelerator is used.
    in_order : bool
        Whether batches come in the order of the sampler, not as workers complete them.

    Raises
    ------
    ValueRangeError
        If arguments are out of range or exclude each other.
    ArgumentError
        If `multiprocessing_context` is of another type.
    WorkerExitError
        While iterating: if a worker has died.
    WorkerTimeoutError
        While iterating: if no batch came in `timeout` seconds.

    Examples
    --------
    >>> import tt
    >>> loader = tt.utils.data.DataLoader(range(5), batch_size=2)
    >>> list(loader)
    [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    >>> len(loader)
    3
    """

    _initialized = False
    _iterator: _MultiProcessingDataLoaderIter | None

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: str | BaseContext | None = None,
        generator: tt.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueRangeError(
                "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
            )
        if timeout < 0:
            raise ValueRangeError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueRangeError(
                "prefetch_factor option could only be specified in multiprocessing. "
                "Let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueRangeError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueRangeError("persistent_workers option needs num_workers > 0")

        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator

        self._dataset_kind = STREAM if isinstance(dataset, IterableDataset) else MAP
        if self._dataset_kind == STREAM:
            _expect_no_order(shuffle=shuffle, sampler=sampler, batch_sampler=batch_sampler)
        if sampler is not None and shuffle:
            raise ValueRangeError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueRangeError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            # The batch sampler alone decides about both.
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueRangeError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
            )
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle))
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)

        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler: Iterable[Any] = sampler
        self.batch_sampler: Iterable[Any] | None = batch_sampler
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        # From here on `__setattr__` refuses what is fixed.
        self._initialized = True
        self.check_worker_number_rationality()

    def _default_sampler(self, shuffle: bool) -> Sampler[Any]:
        if self._dataset_kind == STREAM:
            return _InfiniteConstantSampler()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """The context that starts processes."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: str | BaseContext | None) -> None:
        if context is not None and self.num_workers == 0:
            raise ValueRangeError(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                f"but got num_workers={self.num_workers}"
            )
        if isinstance(context, str):
            methods = multiprocessing.get_all_start_methods()
            if context not in methods:
                raise ValueRangeError(
                    f"multiprocessing_context option should specify a valid start method in {methods!r}, "
                    f"but got multiprocessing_context={context!r}"
                )
            context = multiprocessing.get_context(context)
        if context is not None and not isinstance(context, BaseContext):
            raise ArgumentError(
                "DataLoader",
                "multiprocessing_context option should be a valid context object or a string specifying the start "
                f"method, but got multiprocessing_context={context}",
            )
        self._context = context

    def __setattr__(self, name: str, value: object) -> None:
        if self._initialized and name in _FIXED:
            raise ValueRangeError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> Iterator[Any]:
        if not (self.persistent_workers and self.num_workers):
            return self._get_iterator()
        if self._iterator is None or self._iterator.closed:
            self._iterator = _MultiProcessingDataLoaderIter(self)
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __len__(self) -> int:
        if self._dataset_kind == MAP:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors."""
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if self.num_workers and (processors is None or self.num_workers > processors):
            warn_user(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                f"of worker in current system is {processors}, which is smaller than what this DataLoader is going to "
                "create. Please be aware that excessive worker creation might get DataLoader running slow or even "
                "freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
            )


def _expect_no_order(**options: Any) -> None:
    """Refuse what says in which order a stream is read."""
    for name, value in options.items():
        if value is not None and not (name == "shuffle" and value is False):
            raise ValueRangeError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            )
