"""Samplers: in which order the elements of a dataset are read, and in which batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

import tt
from tt.errors import ArgumentError, ValueRangeError

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

Index = TypeVar("Index", covariant=True)


def random_seed(generator: tt.Generator | None = None) -> int:
    """Draw a seed from a generator, by default the global one."""
    return int(tt.randint(0, 2**63 - 1, (), generator=generator).item())


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


class Sampler(Generic[Index]):
    """The base of samplers: a subclass has `__iter__`, which yields indices or lists of them, and may have `__len__`.

    Examples
    --------
    >>> import tt
    >>> class Backwards(tt.utils.data.Sampler):
    ...     def __init__(self, data):
    ...         self.data = data
    ...
    ...     def __iter__(self):
    ...         return reversed(range(len(self.data)))
    >>> list(tt.utils.data.DataLoader("abc", sampler=Backwards("abc")))
    [['c'], ['b'], ['a']]
    """

    def __iter__(self) -> Iterator[Index]:
        raise NotImplementedError(f"{type(self).__name__} should implement __iter__.")


class SequentialSampler(Sampler[int]):
    """Every index once, from the first to the last.

    Parameters
    ----------
    data_source : Sized
        A dataset with a length.

    Examples
    --------
    >>> import tt
    >>> list(tt.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices in random order.

    Parameters
    ----------
    data_source : Sized
        A dataset with a length.
    replacement : bool
        Whether each index is drawn on its own, so that some come again.
    num_samples : int, optional
        How many indices to draw; by default as many as the dataset has elements.
    generator : Generator, optional
        Where the random numbers come from; by default a new generator for each pass, seeded by the global one.

    Raises
    ------
    ArgumentError
        If `replacement` is not a bool.
    ValueRangeError
        If `num_samples` is not a positive int.

    Examples
    --------
    >>> import tt
    >>> sampler = tt.utils.data.RandomSampler("abcd", generator=tt.Generator().manual_seed(0))
    >>> sorted(sampler)
    [0, 1, 2, 3]
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: tt.Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise ArgumentError(
                "RandomSampler", f"replacement should be a boolean value, but got replacement={replacement}"
            )
        if not _is_count(self.num_samples):
            raise ValueRangeError(
                f"num_samples should be a positive integer value, but got num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        """The number of indices of one pass."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, left = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = tt.Generator()
            # Draws once from the global generator, so what the program draws meanwhile does not change
            # the order.
            generator.manual_seed(random_seed())
        while left > 0:
            if self.replacement:
                # A generator of the caller's advances by what was read, as far as whole blocks allow.
                drawn = tt.randint(0, count, (min(left, 32),), generator=generator).tolist()
            else:
                drawn = tt.randperm(count, generator=generator).tolist()[:left]
            yield from drawn
            left -= len(drawn)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Each of some indices once, in random order.

    Parameters
    ----------
    indices : sequence of int
        The indices.
    generator : Generator, optional
        Where the random numbers come from; by default the global generator.

    Examples
    --------
    >>> import tt
    >>> sorted(tt.utils.data.SubsetRandomSampler([5, 2, 9]))
    [2, 5, 9]
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: tt.Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in tt.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given probabilities.

    Parameters
    ----------
    weights : sequence of float
        A weight for each index; they need not add up to 1.
    num_samples : int
        How many indices to draw.
    replacement : bool
        Whether an index can be drawn again.
    generator : Generator, optional
        Where the random numbers come from; by default the global generator.

    Raises
    ------
    ValueRangeError
        If `num_samples` is not a positive int, `replacement` not a bool, or the weights are not one-dimensional.

    Examples
    --------
    >>> import tt
    >>> list(tt.utils.data.WeightedRandomSampler([0, 0, 1.0], 4))
    [2, 2, 2, 2]
    """

    weights: Any
    num_samples: int
    replacement: bool

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: tt.Generator | None = None,
    ) -> None:
        if not _is_count(num_samples):
            raise ValueRangeError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueRangeError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = tt.as_tensor(weights, dtype=tt.float64)
        if self.weights.dim() != 1:
            raise ValueRangeError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = tt.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of indices of another sampler.

    Parameters
    ----------
    sampler : Sampler or iterable
        Where the indices come from.
    batch_size : int
        How many indices a list has.
    drop_last : bool
        Whether a shorter last list is left out.

    Raises
    ------
    ValueRangeError
        If `batch_size` is not a positive int or `drop_last` not a bool.

    Examples
    --------
    >>> import tt
    >>> list(tt.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        if not _is_count(batch_size):
            raise ValueRangeError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueRangeError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler: Iterable[int] = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices, size = iter(self.sampler), self.batch_size
        while batch := list(islice(indices, size)):
            if len(batch) < size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]  # a sampler may have no length: a TypeError, as of len()
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
