"""Datasets, which loaders read by index or as a stream, and how they are combined.

`Dataset` is read by index, `IterableDataset` is iterated.  A dataset that has `__getitems__` is given
the indices of a whole batch at once.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import accumulate
from typing import Any, Generic, TypeVar, cast

import tt
from tt.errors import AssertedError, ValueRangeError
from tt.library import warn_user

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

Element = TypeVar("Element", covariant=True)


class Dataset(Generic[Element]):
    """A collection whose elements are read by index, or by another key that the sampler yields.

    A subclass has `__getitem__`, and for most samplers `__len__`.  With `__getitems__(indices)`, which returns a list
    of elements, the loader reads a batch in one call.

    Examples
    --------
    >>> import tt
    >>> class Squares(tt.utils.data.Dataset):
    ...     def __getitem__(self, index):
    ...         return index**2
    ...
    ...     def __len__(self):
    ...         return 4
    >>> list(tt.utils.data.DataLoader(Squares(), batch_size=3))
    [tensor([0, 1, 4]), tensor([9])]
    """

    def __getitem__(self, index: Any) -> Element:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Element]) -> ConcatDataset[Element]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Element], Iterable[Element]):
    """A stream of elements: a subclass has `__iter__`.

    Each worker of a loader iterates a copy of its own.  To read every element once, a copy has to choose its part;
    `get_worker_info` says which copy it is.

    Examples
    --------
    >>> import tt
    >>> class Letters(tt.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter("abc")
    >>> list(tt.utils.data.DataLoader(Letters(), batch_size=2))
    [['a', 'b'], ['c']]
    """

    @abstractmethod
    def __iter__(self) -> Iterator[Element]: ...

    def __add__(self, other: Dataset[Element]) -> ChainDataset:  # type: ignore[override]  # a chain has no indices
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Tensors of the same length, whose rows belong together.

    A loader without a `collate_fn` of its own takes all rows of a batch with one `index_select` for each tensor.

    Parameters
    ----------
    *tensors : Tensor
        Tensors whose first dimensions are equally long.

    Raises
    ------
    AssertedError
        If their lengths differ.

    Examples
    --------
    >>> import tt
    >>> data = tt.utils.data.TensorDataset(tt.arange(4.0), tt.arange(4))
    >>> data[1]
    (tensor(1.), tensor(1))
    >>> next(iter(tt.utils.data.DataLoader(data, batch_size=3)))
    [tensor([0., 1., 2.]), tensor([0, 1, 2])]
    """

    tensors: tuple[Any, ...]

    def __init__(self, *tensors: Any) -> None:
        lengths = [tensor.size(0) for tensor in tensors]
        if any(length != lengths[0] for length in lengths):
            raise AssertedError(f"Size mismatch between tensors: their first dimensions are {lengths}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class StackDataset(Dataset[Any]):
    """Datasets of the same length side by side: an element is a tuple of theirs, or a dict for datasets with names.

    Parameters
    ----------
    *args : Dataset
        Datasets whose elements become tuples.
    **kwargs : Dataset
        Datasets whose elements become dicts.

    Raises
    ------
    ValueRangeError
        If the lengths differ, no dataset is given, or only some have names.

    Examples
    --------
    >>> import tt
    >>> tt.utils.data.StackDataset(number=[1, 2], letter="ab")[1]
    {'number': 2, 'letter': 'b'}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueRangeError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input/output, "
                "but both types are given."
            )
        if not args and not kwargs:
            raise ValueRangeError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = [len(dataset) for dataset in args or kwargs.values()]
        self._length = lengths[0]
        if any(length != self._length for length in lengths):
            raise ValueRangeError(f"Size mismatch between datasets: {lengths}")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        if isinstance(self.datasets, dict):
            columns = [_elements(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, row, strict=True)) for row in zip(*columns, strict=True)]
        return list(zip(*(_elements(dataset, indices) for dataset in self.datasets), strict=True))

    def __len__(self) -> int:
        return self._length


def _elements(dataset: Any, indices: list[Any]) -> Sequence[Any]:
    """Return several elements of a dataset, in one call where it has `__getitems__`."""
    several = getattr(dataset, "__getitems__", None)
    if not callable(several):
        return [dataset[index] for index in indices]
    elements: Sequence[Any] = several(indices)
    if len(elements) != len(indices):
        raise ValueRangeError(
            f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(elements)}"
        )
    return elements


class ConcatDataset(Dataset[Element]):
    """Datasets one after another.

    Parameters
    ----------
    datasets : iterable of Dataset
        Datasets with lengths; at least one.

    Raises
    ------
    AssertedError
        If there is none, or one is a stream.

    Examples
    --------
    >>> import tt
    >>> both = tt.utils.data.ConcatDataset([[1, 2], [3]])
    >>> len(both), both[2], both[-3]
    (3, 3, 1)
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertedError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertedError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Sized]) -> list[int]:
        """Return the sums of the lengths up to each dataset."""
        return list(accumulate(map(len, sequence)))

    @property
    def cummulative_sizes(self) -> list[int]:
        """`cumulative_sizes`, by its former name."""
        warn_user("cummulative_sizes is now cumulative_sizes", FutureWarning)
        return self.cumulative_sizes

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Element:
        if idx < 0:
            if -idx > len(self):
                raise ValueRangeError("absolute value of index should not exceed dataset length")
            idx += len(self)
        # Binary search, O(log n) for n datasets.
        number = bisect_right(self.cumulative_sizes, idx)
        if number == len(self.datasets):
            raise IndexError(f"index {idx} is out of range for a dataset of {len(self)} elements")
        before = self.cumulative_sizes[number - 1] if number else 0
        return cast(Element, self.datasets[number][idx - before])


class ChainDataset(IterableDataset[Any]):
    """Streams one after another.

    Parameters
    ----------
    datasets : iterable of IterableDataset
        The streams, which are opened one by one.

    Examples
    --------
    >>> import tt
    >>> class Count(tt.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(2))
    >>> list(tt.utils.data.ChainDataset([Count(), Count()]))
    [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            yield from _expect_stream(dataset)

    def __len__(self) -> int:
        return sum(len(_expect_stream(dataset)) for dataset in self.datasets)


def _expect_stream(dataset: Any) -> Any:
    if not isinstance(dataset, IterableDataset):
        raise AssertedError("ChainDataset only supports IterableDataset")
    return dataset


class Subset(Dataset[Element]):
    """The elements of a dataset at some indices.

    A subclass that overrides `__getitem__` has to override `__getitems__`, which loaders call.

    Parameters
    ----------
    dataset : Dataset
        The whole.
    indices : sequence of int
        Indices in the whole, in the order of the subset.

    Raises
    ------
    NotImplementedError
        If a subclass overrides `__getitem__` only.

    Examples
    --------
    >>> import tt
    >>> part = tt.utils.data.Subset("abcdef", [4, 0])
    >>> len(part), part[0]
    (2, 'e')
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        cls = type(self)
        # Loaders would pass over what the subclass does for each element.
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{cls.__name__} overrides __getitem__ but not __getitems__, which loaders call. For instance:\n\n"
                "def __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> Element:
        if isinstance(idx, list):
            return cast(Element, self.dataset[[self.indices[i] for i in idx]])
        return cast(Element, self.dataset[self.indices[idx]])

    def __getitems__(self, indices: list[int]) -> Sequence[Element]:
        chosen = [self.indices[index] for index in indices]
        several = getattr(self.dataset, "__getitems__", None)
        if callable(several):
            return cast(Sequence[Element], several(chosen))
        return [self.dataset[index] for index in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[float], generator: tt.Generator | None = None
) -> list[Subset[Any]]:
    """Divide a dataset at random into parts of given lengths.

    Parameters
    ----------
    dataset : Dataset
        A dataset with a length.
    lengths : sequence of int or float
        The lengths of the parts, or fractions whose sum is 1.  What rounding down leaves over goes to the first parts,
        one element each.
    generator : Generator, optional
        Where the random numbers come from.

    Raises
    ------
    ValueRangeError
        If the lengths do not add up to the dataset's, or a fraction is not between 0 and 1.

    Examples
    --------
    >>> import tt
    >>> parts = tt.utils.data.random_split(range(10), [0.7, 0.3], tt.Generator().manual_seed(1))
    >>> [len(part) for part in parts], sorted([*parts[0], *parts[1]]) == list(range(10))
    ([7, 3], True)
    """
    total = len(dataset)
    # Fractions that add up to a little more than 1 are lengths to PyTorch as well, and refused below.
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of_fractions(lengths, total)
    if sum(lengths) != total:
        raise ValueRangeError(
            f"Sum of input lengths does not equal the length of the input dataset! ({sum(lengths)} and {total})"
        )
    order = tt.randperm(total, generator=generator).tolist()
    sizes = cast(Sequence[int], lengths)
    return [
        Subset(dataset, order[end - size : end]) for end, size in zip(accumulate(sizes), sizes, strict=True)
    ]


def _lengths_of_fractions(fractions: Sequence[float], total: int) -> list[int]:
    for i, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueRangeError(f"Fraction at index {i} is not between 0 and 1")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        # What rounding down has left goes to the parts in turn.
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            warn_user(f"Length of split at index {i} is 0. This might result in an empty dataset.")
    return lengths
