"""Passes with workers: batches and their memory, order of arrival, persistent workers."""

from __future__ import annotations

import importlib
import multiprocessing

import numpy as np
import pytest

import tt
from tests.api.utils.data.workers import (
    MARKS,
    Made,
    Shares,
    children,
    image,
    left_over,
    loader,
)
from tests.api.utils.data.workers import nothing_is_left_over as nothing_is_left_over
from tt.utils.data import DataLoader, TensorDataset

pytestmark = MARKS


# --- batches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_order_is_the_same_with_any_number_of_workers(workers):
    def order(count):
        options = {"shuffle": True, "batch_size": 3, "num_workers": count}
        return [b.tolist() for b in DataLoader(range(20), generator=tt.Generator().manual_seed(1), **options)]

    assert order(workers) == order(0)


def test_batches_lie_in_shared_memory():
    def of_segments(tensor):
        with open("/proc/self/maps", encoding="utf-8") as maps:
            spans = [line.split()[0] for line in maps if "memfd:tt" in line]
        ends = [[int(end, 16) for end in span.split("-")] for span in spans]
        return any(start <= tensor.data_ptr() < end for start, end in ends)

    (x, y), (z, _) = loader(image, batch_size=4)
    assert of_segments(x)
    assert of_segments(z)
    assert of_segments(y)
    assert [x.shape, x[2].mean().item(), y.tolist()] == [(4, 40, 40), 2.0, [0, 1, 2, 3]]
    del z
    x += 1  # it is the caller's
    assert x[3].mean().item() == 4.0


def plain(value):
    """Return a batch as numbers with their dtypes."""
    if isinstance(value, tt.Tensor | np.ndarray):
        return type(value), value.dtype, value.tolist(), getattr(value, "requires_grad", None)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    "element",
    [
        lambda i: tt.full((50, 50), float(i)),
        lambda i: tt.full((50, 50), i, dtype=tt.bfloat16),
        lambda i: {"a": [np.full(3000, i)], "b": "text", "c": (i, 1.5)},
        lambda i: tt.ones(0, 3),
        lambda i: np.full((30, 30), i)[::2].T,
        lambda i: np.float32(i),
    ],
)
@pytest.mark.parametrize("collate_fn", [None, lambda batch: batch])
def test_a_batch_of_a_worker_is_a_batch_of_this_process(element, collate_fn):
    options = {"batch_size": 2, "collate_fn": collate_fn}
    data = Made(element, 4)
    assert plain(list(DataLoader(data, num_workers=2, **options))) == plain(list(DataLoader(data, **options)))


def test_leaves_and_strides_arrive_as_they_were():
    def make(index):
        image = tt.rand(2, 3, 40, 40).to(memory_format=tt.channels_last)
        return tt.ones(2000, requires_grad=True), image, image.mean()

    (leaf, image, mean), *_ = loader(make, length=1, batch_size=None)
    assert leaf.is_leaf
    assert leaf.requires_grad
    assert image.is_contiguous(memory_format=tt.channels_last)
    assert image.mean().item() == pytest.approx(mean.item())


def test_memory_is_used_again_when_its_tensors_are_gone():
    batches, addresses = loader(image, length=60, num_workers=1), set()
    kept = None
    for x, y in batches:
        assert (x == y[0]).all()
        addresses.add(x.data_ptr())
        if y.item() == 5:
            kept = x
        del x, y
    assert len(addresses) < 10
    assert (kept == 5).all()


def test_kept_batches_stay_as_they_are():
    found = list(loader(image, length=40, persistent_workers=True))
    assert [x.mean().item() for x, _ in found] == list(range(40))


def test_more_kept_batches_than_there_may_be_mappings(monkeypatch):
    monkeypatch.setattr("tt.multiprocessing.segments.MOST_MAPPED", 4)
    found = [x for x, _ in loader(image, length=40, num_workers=1)]
    assert left_over()[2] <= 4 + 5
    assert [x.mean().item() for x in found] == list(range(40))


def test_a_worker_may_keep_a_batch():
    class Keeps:
        def __init__(self):
            self.last = None

        def __call__(self, batch):
            before = None if self.last is None else self.last.mean().item()
            self.last = tt.utils.data.default_collate([x for x, _ in batch])
            return self.last, before

    found = [before for _, before in loader(image, length=20, num_workers=1, collate_fn=Keeps())]
    assert found == [None, *range(19)]


def test_a_forked_process_keeps_its_view_of_a_batch():
    batches = iter(loader(image, length=30, num_workers=1))
    held = next(batches)
    ask, tell = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(
        target=lambda: (tell.recv(), tell.send(held[0].mean().item())), daemon=True
    )
    child.start()
    held.clear()
    for _ in batches:
        pass
    ask.send(None)
    assert ask.recv() == 0.0
    child.join()
    child.close()
    ask.close()
    tell.close()


def test_a_dataset_of_tensors_is_read_at_once_in_a_worker():
    data = TensorDataset(tt.arange(40000.0).reshape(10, 4000), tt.arange(10))
    (x, y), (z, _) = DataLoader(data, batch_size=5, num_workers=2)
    assert (x == data.tensors[0][:5]).all()
    assert (z == data.tensors[0][5:]).all()
    assert y.tolist() == [0, 1, 2, 3, 4]


def test_large_messages_in_both_directions_do_not_block():
    text = "x" * 1_000_000
    order = [list(range(50_000)) for _ in range(6)]
    batches = DataLoader(range(50_000), batch_sampler=order, num_workers=1, collate_fn=lambda b: text)
    assert list(batches) == [text] * 6


# --- order of arrival -------------------------------------------------------------------------------------------------


def test_without_order_a_slow_worker_holds_nobody_up():
    arrived = multiprocessing.Event()

    def make(index):
        if index == 0:
            arrived.wait(30)
        return index

    found = []
    for x in loader(make, length=6, in_order=False):
        found.append(x.item())
        arrived.set()
    assert sorted(found) == list(range(6))
    assert found[0] != 0
    assert [x.item() for x in loader(make, length=6)] == list(range(6))


def test_each_worker_has_a_share_of_a_stream():
    found = [x.tolist() for x in DataLoader(Shares(7), batch_size=2, num_workers=2)]
    assert found == [[0, 2], [1, 3], [4, 6], [5]]
    assert sorted(x.item() for x in DataLoader(Shares(5), num_workers=3, in_order=False)) == list(range(5))


def test_persistent_workers_read_a_stream_again():
    batches = DataLoader(Shares(5), num_workers=2, persistent_workers=True)
    first = [x.item() for x in batches]
    pids = children()
    assert [x.item() for x in batches] == first == [0, 1, 2, 3, 4]
    assert children() == pids


def test_persistent_workers_begin_again_in_the_middle():
    batches = loader(image, length=30, persistent_workers=True)
    for i, (x, y) in enumerate(batches):
        assert (x == y).all()
        if i == 3:
            break
    assert [y.item() for _, y in batches] == list(range(30))


def test_a_program_ends_persistent_workers_and_begins_anew():
    batches = DataLoader(Shares(5), num_workers=2, persistent_workers=True)
    first = [x.item() for x in batches]
    batches._iterator._shutdown_workers()
    assert batches._iterator.closed
    batches._iterator = None
    assert [x.item() for x in batches] == first


# --- loaders and passes of libraries ----------------------------------------------------------------------------------


def _loader_of_a_library(module, workers):
    """Return a loader that is none of the library's class, as fastai's."""
    dataloader = importlib.import_module(f"{module.__name__}.utils.data.dataloader")

    class Loader:
        _IterableDataset_len_called, _auto_collation, drop_last, generator = None, False, False, None
        _dataset_kind = dataloader._DatasetKind.Iterable
        num_workers, timeout, persistent_workers, prefetch_factor = workers, 0, False, 2
        pin_memory, pin_memory_device, worker_init_fn, in_order = False, "", None, True
        multiprocessing_context = multiprocessing.get_context("fork") if workers else None

        def __init__(self):
            self.dataset, self._index_sampler = self, dataloader._InfiniteConstantSampler()

        def collate_fn(self, batch):
            return batch

        def __iter__(self):
            return iter(range(3))

    return dataloader, Loader()


@pytest.mark.parametrize("library", ["tt", pytest.param("torch", marks=pytest.mark.torch)])
@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_of_a_library_is_read_by_the_passes(library, workers):
    module = tt if library == "tt" else pytest.importorskip("torch")
    dataloader, own = _loader_of_a_library(module, workers)
    kind = (dataloader._SingleProcessDataLoaderIter, dataloader._MultiProcessingDataLoaderIter)[workers]
    one_pass = kind(own)
    assert isinstance(one_pass, dataloader._BaseDataLoaderIter) and list(one_pass) == [0, 1, 2]
    assert (one_pass._num_workers, one_pass._drop_last, one_pass._num_yielded) == (workers, False, 3)
    info = importlib.import_module(f"{library}.utils.data._utils").worker.get_worker_info
    assert info is dataloader.get_worker_info and info() is None


@pytest.mark.parametrize("library", ["tt", pytest.param("torch", marks=pytest.mark.torch)])
def test_a_subclass_of_a_pass_may_choose_the_indices(library):
    module = tt if library == "tt" else pytest.importorskip("torch")
    dataloader = importlib.import_module(f"{library}.utils.data.dataloader")

    class Reversed(dataloader._SingleProcessDataLoaderIter):
        def _next_index(self):
            return super()._next_index()[::-1]

    class Loader(module.utils.data.DataLoader):
        def _get_iterator(self):
            return Reversed(self)

    assert [batch.tolist() for batch in Loader(range(4), batch_size=2)] == [[1, 0], [3, 2]]
