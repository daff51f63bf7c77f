"""Loaders with random arguments over datasets of every kind yield what PyTorch's yield, and fail where they fail."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tt

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.torch,
    pytest.mark.exhaustive,
    pytest.mark.filterwarnings("ignore"),
]


def datasets(lib):
    """Return datasets written with the classes of a library."""
    data = lib.utils.data

    class Mapped(data.Dataset):
        def __len__(self):
            return 11

        def __getitem__(self, i):
            return {"i": i, "x": np.full(3, i, np.float32), "t": lib.tensor([i, i]), "s": str(i)}

    class Shared(data.IterableDataset):
        def __init__(self, length):
            self.length = length

        def __iter__(self):
            info = data.get_worker_info()
            return iter(range(self.length) if info is None else range(info.id, self.length, info.num_workers))

        def __len__(self):
            return self.length

    class Uneven(data.IterableDataset):
        def __iter__(self):
            info = data.get_worker_info()
            return iter(range(100, 109 if info and info.id else 102))

    class Failing(data.IterableDataset):
        def __iter__(self):
            yield 1
            yield 2
            raise KeyError("boom")

    return {
        "mapped": Mapped(), "stream": Shared(10), "empty": Shared(0), "uneven": Uneven(), "failing": Failing(),
        "list": [1, 2, 3], "range": range(7),
    }  # fmt: skip


def plain(value):
    if isinstance(value, tt.Tensor | torch.Tensor):
        return str(value.dtype).partition(".")[2], value.tolist()
    if isinstance(value, np.ndarray):
        return "array", value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def built_in(error):
    """Return the name of the class that both libraries raise, or inherit from."""
    names = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
    return "AssertionError" if "AssertionError" in names else names[0]


def two_passes(lib, dataset, options):
    """Return lengths, batches and errors of two passes."""
    found = []
    try:
        loader = lib.utils.data.DataLoader(dataset, **options)
        try:
            found.append(len(loader))
        except TypeError as error:
            found.append(built_in(error))
        for _ in range(2):
            batches = iter(loader)
            while len(found) < 80:
                try:
                    found.append(plain(next(batches)))
                except StopIteration:
                    found.append("the end")
                    break
                except Exception as error:
                    found.append(built_in(error))
    except Exception as error:
        found.append(built_in(error))
    return found


@pytest.mark.parametrize("seed", range(80))
def test_a_loader_with_random_arguments(seed):
    choose = random.Random(seed)
    ours, theirs = datasets(tt), datasets(torch)
    name = choose.choice(list(ours))
    options = {"batch_size": choose.choice([None, 1, 2, 3, 20]), "num_workers": choose.choice([0, 1, 2, 3])}
    options["drop_last"] = choose.random() < 0.3
    if options["num_workers"]:
        options["persistent_workers"] = choose.random() < 0.4
        options["prefetch_factor"] = choose.choice([None, None, 1, 3, 0])
        options["timeout"] = choose.choice([0, 60])
    if choose.random() < 0.1:
        options["batch_sampler"] = [[0, 1], [2]]
    if choose.random() < 0.1:
        options["sampler"] = [2, 0]
    if choose.random() < 0.1:
        options["collate_fn"] = list
    assert two_passes(tt, ours[name], options) == two_passes(torch, theirs[name], options), (name, options)
