"""Fetching: from the indices of a batch to the batch, in the loader's process or in a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tt
from tt.utils.data.collate import collate_tensor_fn, default_collate, default_collate_fn_map
from tt.utils.data.dataset import Subset, TensorDataset
from tt.utils.data.worker_info import empty_in_batch

__all__ = ["MAP", "STREAM", "make_fetcher"]

MAP, STREAM = 0, 1
"""The kinds of datasets: read by index, or iterated."""

Fetch = Callable[[Any], Any]


def make_fetcher(
    kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
) -> Fetch:
    """Return the function from indices that the sampler yields to a batch.

    Parameters
    ----------
    kind : int
        `MAP` or `STREAM`.
    dataset : Dataset
        The data.
    auto_collation : bool
        Whether the sampler yields lists of indices.
    collate_fn : callable
        Makes a batch of a list of elements, or converts one element.
    drop_last : bool
        Whether a shorter last batch of a stream is left out.

    Returns
    -------
    callable
        The function; it raises StopIteration at the end of a stream.
    """
    if kind == STREAM:
        return _stream_fetcher(dataset, auto_collation, collate_fn, drop_last)
    if not auto_collation:
        return lambda index: collate_fn(dataset[index])
    if collate_fn is default_collate:
        whole = whole_batches(dataset)
        if whole is not None:
            return _whole_or_single(whole, dataset)
    return _elements_fetcher(dataset, collate_fn)


def _elements_fetcher(dataset: Any, collate_fn: Callable[[Any], Any]) -> Fetch:
    several = getattr(dataset, "__getitems__", None)
    if several:
        return lambda indices: collate_fn(several(indices))
    return lambda indices: collate_fn([dataset[index] for index in indices])


def _stream_fetcher(
    dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
) -> Fetch:
    elements = iter(dataset)
    ended = False

    def fetch(indices: Any) -> Any:
        nonlocal ended
        if ended:
            raise StopIteration
        if not auto_collation:
            return collate_fn(next(elements))
        batch = []
        for _ in indices:
            try:
                batch.append(next(elements))
            except StopIteration:
                ended = True
                break
        if not batch or (drop_last and len(batch) < len(indices)):
            raise StopIteration
        return collate_fn(batch)

    return fetch


# --- whole batches ---------------------------------------------------------------------------------------------------


def whole_batches(dataset: Any) -> Callable[[Any], list[Any] | None] | None:
    """Return the function that takes indices and returns the collated batch, for a dataset of tensors; None for others.

    The function returns None for indices that it does not take.
    """
    cls = type(dataset)
    if isinstance(dataset, Subset):
        if cls.__getitems__ is not Subset.__getitems__ or cls.__getitem__ is not Subset.__getitem__:
            return None
        inner, chosen = whole_batches(dataset.dataset), dataset.indices
        if inner is None:
            return None
        return lambda indices: inner([chosen[index] for index in indices])
    # A subclass that overrides `__getitem__` must be called for each element.
    plain = isinstance(dataset, TensorDataset) and cls.__getitem__ is TensorDataset.__getitem__
    if not plain or hasattr(dataset, "__getitems__") or not all(map(_has_rows, dataset.tensors)):
        return None
    return lambda indices: _rows(dataset.tensors, indices)


def _has_rows(tensor: tt.Tensor) -> bool:
    return type(tensor) in (tt.Tensor, tt.Parameter) and tensor.layout is tt.strided


def _rows(tensors: tuple[Any, ...], indices: list[Any]) -> list[Any] | None:
    length = min(tensor.size(0) for tensor in tensors)
    if type(indices) is list and indices and type(first := indices[0]) is int:
        # Consecutive indices, as without shuffling, are a slice: one copy of a block.
        end = first + len(indices)
        if first >= 0 and end <= length and indices == list(range(first, end)):
            return [_slice_of(tensor, first, end) for tensor in tensors]
    rows = np.asarray(indices)
    if rows.ndim != 1 or rows.dtype.kind != "i" or not rows.size:
        return None
    if rows.min() < 0 or rows.max() >= length:
        return None  # counted from the end, or the error of the element
    positions = tt.from_numpy(rows.astype(np.int64, copy=False))
    return [_rows_of(tensor, positions) for tensor in tensors]


def _slice_of(tensor: tt.Tensor, start: int, end: int) -> Any:
    rows = tensor[start:end]
    if tensor.device.type == "cpu" and not tensor.requires_grad:
        out = empty_in_batch(tuple(rows.shape), tensor.dtype.numpy)
        if out is not None:
            return tt.from_numpy(out).copy_(rows)
    # A batch must not change with the dataset.
    return rows.clone()


def _rows_of(tensor: tt.Tensor, places: Any) -> Any:
    if tensor.device.type == "cpu" and not tensor.requires_grad:
        out = empty_in_batch((places.numel(), *tensor.shape[1:]), tensor.dtype.numpy)
        if out is not None:
            return tt.index_select(tensor, 0, places, out=tt.from_numpy(out))
        return tt.index_select(tensor, 0, places)
    return tt.index_select(tensor, 0, places.to(tensor.device))


def _whole_or_single(whole: Callable[[Any], list[Any] | None], dataset: Any) -> Fetch:
    fetch_elements = _elements_fetcher(dataset, default_collate)

    def fetch(indices: Any) -> Any:
        # Whoever changes how tensors are collated expects to be called.
        if default_collate_fn_map.get(tt.Tensor) is collate_tensor_fn:
            result = whole(indices)
            if result is not None:
                return result
        return fetch_elements(indices)

    return fetch
