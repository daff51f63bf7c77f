"""Policies that choose which inner modules `FullyShardedDataParallel` shards by themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tt.nn import Module

__all__ = [
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Choose every module.

    Examples
    --------
    >>> from tt.distributed.fsdp.wrap import always_wrap_policy
    >>> always_wrap_policy(module=None, recurse=False, nonwrapped_numel=0)
    True
    """
    return True


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Iterable[type[Module]]
) -> bool:
    """Choose modules of some classes: the layers of a Transformer; give the classes by `functools.partial`."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, min_num_params: int = 100_000_000
) -> bool:
    """Choose modules with many elements that no inner module has taken."""
    return nonwrapped_numel >= min_num_params


class ModuleWrapPolicy:
    """Chooses modules of some classes.

    Parameters
    ----------
    module_classes : iterable of type
        The classes.

    Examples
    --------
    >>> import tt
    >>> from tt.distributed.fsdp.wrap import ModuleWrapPolicy
    >>> policy = ModuleWrapPolicy({tt.nn.Linear})
    >>> policy(module=tt.nn.Linear(1, 1), recurse=False, nonwrapped_numel=2)
    True
    """

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._classes = tuple(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        """Return whether to look into a module, or to choose it."""
        return recurse or isinstance(module, self._classes)
