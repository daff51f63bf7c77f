"""One pass over a loader: in its own process, or with workers.

The classes, and the attributes that they read of a loader, have PyTorch's names: libraries subclass them, or pass them
a loader of their own.
"""

from __future__ import annotations

import multiprocessing
from itertools import cycle
from typing import TYPE_CHECKING, Any

import tt
from tt.errors import AssertedError, WorkerExitError, WorkerTimeoutError
from tt.library import warn_user
from tt.utils.data.fetch import STREAM, make_fetcher
from tt.utils.data.pin_memory import pin_memory
from tt.utils.data.sampler import random_seed
from tt.utils.data.worker import EndOfStream, WorkerArguments
from tt.utils.data.worker_errors import ExceptionWrapper
from tt.utils.data.worker_pool import WorkerPool

if TYPE_CHECKING:
    from tt.utils.data.dataloader import DataLoader

__all__ = ["_BaseDataLoaderIter", "_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter"]


class _BaseDataLoaderIter:
    """The base of both kinds of passes."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        # Not the loader: workers end as soon as it is dropped, which a cycle would delay.
        self._dataset = loader.dataset
        self._length = loader._IterableDataset_len_called
        self._dataset_kind = loader._dataset_kind
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._persistent_workers = loader.persistent_workers
        self._index_sampler = loader._index_sampler
        self._pin_memory = loader.pin_memory and tt.accelerator.is_available()
        if loader.pin_memory and loader.pin_memory_device:
            warn_user(
                "pin_memory_device is deprecated, the current accelerator will be used as the device, "
                f"ignore pin_memory_device={loader.pin_memory_device!r}.",
            )
        if loader.pin_memory and not self._pin_memory:
            warn_user(
                "'pin_memory' argument is set as true but no accelerator is found, "
                "then device pinned memory won't be used.",
            )
        # Both are drawn in this order with any number of workers: the order of the elements does not depend on it.
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = random_seed(loader.generator)
        self._num_yielded = 0

    def __iter__(self) -> Any:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")

    def _next_index(self) -> Any:
        """Return what the sampler yields next; subclasses may choose another."""
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next_data()
        if self._pin_memory:
            data = pin_memory(data)
        self._num_yielded += 1
        if self._dataset_kind == STREAM:
            self._warn_of_length()
        return data

    def _warn_of_length(self) -> None:
        if self._length is None or self._num_yielded <= self._length:
            return
        warn_user(
            f"Length of IterableDataset {self._dataset} was reported to be {self._length} (when accessing "
            f"len(dataloader)), but {self._num_yielded} samples have been fetched. With several workers, each "
            "copy of the dataset has to choose its part: see get_worker_info.",
        )


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """A pass in which batches are made on demand."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if self._timeout:
            raise AssertedError("timeout= needs num_workers > 0: batches are made on demand")
        self._fetch = make_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self) -> Any:
        return self._fetch(self._next_index())


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """A pass whose batches come from workers, which make the next ones meanwhile.

    Tasks are numbered.  Each goes to the next worker in turn, `prefetch_factor` times the number of workers are under
    way, and batches are handed out by number, or with `in_order=False` as they come.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._workers = self._num_workers
        if not loader.prefetch_factor:
            raise AssertedError("prefetch_factor must be greater than 0 if there are workers")
        self._most_tasks = loader.prefetch_factor * self._workers
        self._in_order = getattr(loader, "in_order", True)  # loaders for older versions have none
        arguments = WorkerArguments(
            loader._dataset_kind,
            loader.dataset,
            loader._auto_collation,
            loader.collate_fn,
            loader.drop_last,
            self._base_seed,
            loader.worker_init_fn,
            0,
            self._workers,
        )
        self._pool = WorkerPool(loader.multiprocessing_context or multiprocessing.get_context(), arguments)
        self._begin()

    @property
    def closed(self) -> bool:
        """Whether the workers are gone."""
        return self._pool.closed

    def _begin(self) -> None:
        self._next_task = 0  # to be given to a worker
        self._next_batch = 0  # to be handed out
        self._worker_of: dict[int, int] = {}
        self._arrived: dict[int, Any] = {}
        self._active = [True] * self._workers
        self._tasks_of = [0] * self._workers
        self._turns = cycle(range(self._workers))
        # Workers are ahead by as many batches from the start.
        for _ in range(self._most_tasks):
            self._give_task()

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        """Begin the next pass with the same workers."""
        self._sampler_iter = iter(self._index_sampler)
        self._length = loader._IterableDataset_len_called
        self._num_yielded = 0
        for worker in range(self._workers):
            self._send(worker, None)
        waiting = self._workers
        while waiting:
            # What was under way when the last pass was given up is dropped.
            number, _ = self._receive()
            waiting -= number is None
        self._begin()

    def _give_task(self) -> None:
        worker = self._next_worker()
        if worker is None:
            return
        try:
            index = self._next_index()
        except StopIteration:
            return
        self._worker_of[self._next_task] = worker
        self._tasks_of[worker] += 1
        self._send(worker, self._next_task, index)
        self._next_task += 1

    def _next_worker(self) -> int | None:
        """Return whose turn it is; without order, of those who do not have more than their share."""
        for _ in range(self._workers):
            worker = next(self._turns)
            # Without order, a slow worker must not collect tasks that others could do.
            share = self._most_tasks // max(1, sum(self._active))
            if self._active[worker] and (self._in_order or self._tasks_of[worker] < share):
                return worker
        return None

    def _send(self, worker: int, number: int | None, index: object = None) -> None:
        try:
            self._pool.send(worker, number, index)
        except (WorkerExitError, OSError, KeyboardInterrupt):  # the same that `_receive` meets
            self._pool.close()
            raise

    def _receive(self) -> tuple[int | None, Any]:
        try:
            result: tuple[int | None, Any] = self._pool.receive(self._timeout or None)
        except TimeoutError:
            raise WorkerTimeoutError(self._timeout) from None
        except BaseException:  # a worker is dead, or Ctrl-C
            self._pool.close()
            raise
        return result

    def _next_data(self) -> Any:
        while not self._pool.closed:
            # Tasks whose worker came to the end of its stream will not be answered.
            while self._next_batch < self._next_task and self._is_settled(self._next_batch):
                self._worker_of.pop(self._next_batch, None)
                self._next_batch += 1
            if self._next_batch == self._next_task:
                if not self._persistent_workers:
                    self._pool.close()
                raise StopIteration
            if self._next_batch in self._arrived:
                return self._hand_out(self._next_batch, self._arrived.pop(self._next_batch))
            number, data = self._receive()
            if number is None:
                continue
            if isinstance(data, EndOfStream):
                self._end_stream(data.worker)
            elif number == self._next_batch or not self._in_order:
                return self._hand_out(number, data)
            else:
                self._arrived[number] = data
        raise StopIteration

    def _is_settled(self, number: int) -> bool:
        """Return whether no batch will come for a task: it was handed out, or its worker has come to its end."""
        worker = self._worker_of.get(number)
        return worker is None or not (self._active[worker] or number in self._arrived)

    def _end_stream(self, worker: int) -> None:
        self._active[worker] = False
        if not self._persistent_workers:
            self._pool.retire(worker)
        self._give_task()

    def _hand_out(self, number: int, data: object) -> Any:
        self._tasks_of[self._worker_of.pop(number)] -= 1
        self._give_task()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data

    def close(self) -> None:
        """End the workers."""
        self._pool.close()

    # Trainers end the workers that a loader keeps, and then drop its pass.
    _shutdown_workers = close

    def __del__(self) -> None:
        pool = getattr(self, "_pool", None)
        if pool is not None:
            pool.close()
