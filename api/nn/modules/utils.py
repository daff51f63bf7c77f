"""Helpers that modules outside of tt import by PyTorch's path: sizes as tuples, prefixes of state dicts."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

from tt.nn.modules.sizes import tuple_of

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: object) -> tuple[Any, ...]:
        return tuple_of(x, n)

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[Any], n: int) -> tuple[Any, ...]:
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: int | Sequence[int | None], defaults: Sequence[int]) -> Any:
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    last = defaults[-len(out_size) :]
    return [d if size is None else size for size, d in zip(out_size, last, strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: MutableMapping[str, Any], prefix: str) -> None:
    """Remove a prefix from the keys of a state dict, in place, and from those of its `_metadata`.

    `DataParallel` and `DistributedDataParallel` save a module's state with the prefix "module.".

    Parameters
    ----------
    state_dict : dict
        The state of a module; keys without the prefix stay as they are.
    prefix : str
        Such as "module.".

    Examples
    --------
    >>> import tt
    >>> state = {"module.weight": tt.ones(1), "bias": tt.zeros(1)}
    >>> tt.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> sorted(state)
    ['bias', 'weight']
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    # The entry of the wrapper itself is "", that of the wrapped module the prefix without its dot.
    for key in list(metadata):
        if key.startswith(prefix) or key == prefix.removesuffix("."):
            metadata[key[len(prefix) :]] = metadata.pop(key)
