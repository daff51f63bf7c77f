"""tt.utils.data: datasets, samplers, and loaders that read them in batches.

Examples
--------
>>> import tt
>>> data = tt.utils.data.TensorDataset(tt.arange(5.0), tt.arange(5))
>>> for x, y in tt.utils.data.DataLoader(data, batch_size=3):
...     print(x, y)
tensor([0., 1., 2.]) tensor([0, 1, 2])
tensor([3., 4.]) tensor([3, 4])
"""

from __future__ import annotations

from tt.utils.data.collate import default_collate, default_convert
from tt.utils.data.dataloader import DataLoader
from tt.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from tt.utils.data.distributed import DistributedSampler
from tt.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from tt.utils.data.worker_info import get_worker_info

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
