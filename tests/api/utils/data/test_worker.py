"""Workers: seeds, settings, and what becomes of exceptions."""

from __future__ import annotations

import os
import random
import threading

import numpy as np
import pytest

import tt
from tests.api.utils.data.workers import (
    MARKS,
    image,
    loader,
)
from tests.api.utils.data.workers import nothing_is_left_over as nothing_is_left_over
from tt.utils.data import get_worker_info

pytestmark = MARKS


# --- seeds and settings -----------------------------------------------------------------------------------------------


def seeds(index):
    info = get_worker_info()
    return info.id, info.num_workers, info.seed, tt.initial_seed(), random.random(), np.random.rand()


def test_each_worker_has_seeds_of_its_own_which_the_generator_decides():
    def found(seed):
        batches = loader(seeds, generator=tt.Generator().manual_seed(seed), collate_fn=lambda b: b[0])
        return list(batches)

    first = found(3)
    assert [(worker, count) for worker, count, *_ in first] == [(0, 2), (1, 2)] * 4
    assert all(seed == initial for _, _, seed, initial, _, _ in first)
    assert first[1][2] == first[0][2] + 1
    assert len({numbers for *_, numbers in first}) == 8
    assert found(3) == first
    assert found(4)[0] != first[0]


@pytest.mark.torch
def test_numpy_is_seeded_as_in_torch():
    state = pytest.importorskip("torch.utils.data._utils.worker")._generate_state
    base = 123456789012345678
    ours = np.random.SeedSequence([3, base & 0xFFFFFFFF, base >> 32, 0]).generate_state(4)
    assert ours.tolist() == state(base, 3)


def test_a_worker_knows_what_it_is():
    def about(index):
        info = get_worker_info()
        return index, tt.get_num_threads(), type(info.dataset).__name__, os.getpid() != parent

    parent = os.getpid()
    assert get_worker_info() is None
    assert list(loader(about, length=1, collate_fn=lambda b: b)) == [[(0, 1, "Made", True)]]


def test_a_function_prepares_each_worker():
    def prepare(worker):
        get_worker_info().dataset.make = lambda index: (worker, index)

    found = list(loader(None, length=3, worker_init_fn=prepare, collate_fn=lambda b: b[0]))
    assert found == [(0, 0), (1, 1), (0, 2)]


def test_kernels_and_gradients_work_after_a_fork():
    tt.rand(300, 300) @ tt.rand(300, 300)  # starts the threads of this process
    tt.rand(1_000_000).exp().sum()

    def make(index):
        weight = tt.full((200_000,), 2.0, requires_grad=True)
        (weight.exp() * weight).sum().backward()
        return weight.grad[:2], (tt.eye(50) @ tt.ones(50, 50)).sum()

    for grad, product in loader(make, length=2):
        assert grad[0, 0].item() == pytest.approx(3 * np.exp(2), rel=1e-6)
        assert product.item() == 2500


def test_a_loader_can_be_used_in_several_threads():
    found = []

    def read():
        found.append([y.item() for _, y in loader(image, length=10)])

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [list(range(10))] * 3


# --- exceptions and deaths --------------------------------------------------------------------------------------------


def failing(error):
    def make(index):
        if index == 3:
            raise error
        return index

    return make


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad image"),
        KeyError("name"),
        OSError(2, "gone"),
        tt.errors.BroadcastError("add", (2,), (3,), 0),
    ],
)
def test_an_exception_of_a_worker_is_raised_here_with_its_traceback(error):
    found = []
    with pytest.raises(type(error)) as caught:
        for batch in loader(failing(error)):
            found.append(batch.item())
    assert found == [0, 1, 2]
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert f"Caught {type(error).__name__} in DataLoader worker process 1.\nOriginal Traceback" in text
    assert 'test_worker.py", line' in text
    assert "raise error" in text


def test_a_batch_that_failed_is_one_of_many():
    batches = iter(loader(failing(ValueError("bad"))))
    found = []
    while True:
        try:
            found.append(next(batches).item())
        except ValueError:
            found.append("failed")
        except StopIteration:
            break
    assert found == [0, 1, 2, "failed", 4, 5, 6, 7]


def test_a_function_that_fails_to_prepare_a_worker():
    def prepare(worker):
        raise RuntimeError(f"no licence for {worker}")

    with pytest.raises(RuntimeError, match="no licence for 0"):
        list(loader(image, worker_init_fn=prepare))


def test_a_batch_that_cannot_be_sent_is_an_exception():
    with pytest.raises(Exception, match="pickle"):
        list(loader(lambda i: lambda: None, collate_fn=lambda b: b))
    with pytest.raises(tt.errors.GradientError, match="not a leaf"):
        list(loader(lambda i: tt.ones(2, requires_grad=True) * 2))


@pytest.mark.torch
def test_the_seed_of_numpy_in_a_worker_is_pytorchs():
    theirs = pytest.importorskip("torch.utils.data._utils.worker")._generate_state
    from tt.utils.data._utils.worker import _generate_state

    for seed, worker in ((0, 0), (1, 3), (2**40 + 17, 2), (2**63 - 1, 11)):
        assert _generate_state(seed, worker) == theirs(seed, worker)


def test_a_watchdog_sees_that_the_process_that_started_this_one_is_gone(monkeypatch):
    from tt.utils.data._utils.worker import ManagerWatchdog

    watchdog = ManagerWatchdog()
    assert watchdog.is_alive()
    monkeypatch.setattr(os, "getppid", lambda: -1)
    assert not watchdog.is_alive()
    monkeypatch.undo()
    assert not watchdog.is_alive()
