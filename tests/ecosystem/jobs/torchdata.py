"""torchdata: nodes of loading, stateful loaders, samplers."""

from __future__ import annotations

import torch
from torch.utils.data import RandomSampler, SequentialSampler, TensorDataset, default_collate
from torchdata import nodes
from torchdata.stateful_dataloader import StatefulDataLoader

from tests.ecosystem import kit

REQUIRES = ("torchdata==0.11.0",)


def chains():
    node = nodes.IterableWrapper(range(10))
    node = nodes.Mapper(node, lambda x: x * 2)
    node = nodes.Filter(node, lambda x: x % 3 != 0) if hasattr(nodes, "Filter") else node
    node = nodes.Batcher(node, batch_size=3, drop_last=False)
    return list(nodes.Loader(node))


def samplers():
    data = [torch.tensor(float(i)) for i in range(7)]
    node = nodes.MapStyleWrapper(map_dataset=data, sampler=SequentialSampler(data))
    node = nodes.Mapper(nodes.Batcher(node, 2, drop_last=True), default_collate)
    return list(nodes.Loader(nodes.Prefetcher(node, 2)))


def parallel():
    node = nodes.ParallelMapper(
        nodes.IterableWrapper(range(8)),
        lambda x: torch.full((2,), float(x)),
        num_workers=2,
        in_order=True,
        method="thread",
    )
    return list(node)


def states():
    node = nodes.Batcher(nodes.IterableWrapper(range(10)), 2)
    loader = nodes.Loader(node)
    it = iter(loader)
    first = [next(it), next(it)]
    state = loader.state_dict()
    again = nodes.Loader(nodes.Batcher(nodes.IterableWrapper(range(10)), 2))
    again.load_state_dict(state)
    return first, list(again)


def stateful_loader():
    data = TensorDataset(kit.tensor(10, 2), torch.arange(10))
    loader = StatefulDataLoader(data, batch_size=3)
    it = iter(loader)
    next(it)
    state = loader.state_dict()
    again = StatefulDataLoader(data, batch_size=3)
    again.load_state_dict(state)
    return [y for _, y in again], len(loader)


def workers():
    data = TensorDataset(kit.tensor(8, 2), torch.arange(8))
    loader = StatefulDataLoader(data, batch_size=2, num_workers=2)
    it = iter(loader)
    first = [next(it)[1], next(it)[1]]
    state = loader.state_dict()
    del it
    again = StatefulDataLoader(data, batch_size=2, num_workers=2)
    again.load_state_dict(state)
    return first, [y for _, y in again]


def weighted():
    sampler = nodes.MultiNodeWeightedSampler(
        {"a": nodes.IterableWrapper(range(5)), "b": nodes.IterableWrapper(range(10, 15))},
        {"a": 0.5, "b": 0.5},
        stop_criteria="ALL_DATASETS_EXHAUSTED",
        seed=0,
    )
    values = list(sampler)
    generator = torch.Generator().manual_seed(0)
    return sorted(values), sorted(RandomSampler(range(5), generator=generator))
