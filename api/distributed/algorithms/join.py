"""Join: ranks with more batches than others go on while those that are done answer their collectives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import tt
from tt.distributed import collectives, ranks
from tt.distributed.work import Work
from tt.library import warn_user

__all__ = ["Join", "JoinHook", "Joinable"]

_OFTEN = 1000
"""After so many batches that others had in addition, a warning says that they are very uneven."""


class JoinHook:
    """The part of a rank that has no batches left: in place of each batch, and at the end."""

    def main_hook(self) -> None:
        """Answer the collectives of one batch of the other ranks."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Finish after all ranks are done; the argument says whether this rank was among the last."""


@dataclass
class _JoinConfig:
    """How a Joinable takes part."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable(ABC):
    """A class whose collectives can be answered by ranks that have no batches left.

    It calls `Join.notify_join_context(self)` before its first collective of each batch.
    """

    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook; keyword arguments of `Join` are passed on."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the collectives."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group whose ranks join."""


class Join:
    """Context in which ranks may have different numbers of batches.

    Parameters
    ----------
    joinables : list of Joinable
        What communicates in each batch, such as `DistributedDataParallel` and `ZeroRedundancyOptimizer`.
    enable : bool
        False does nothing: for inputs that are known to be even.
    throw_on_early_termination : bool
        Whether all ranks raise as soon as one has no batch left.

    Raises
    ------
    ValueError
        No joinables, or their groups or devices differ.
    RuntimeError
        A rank had no batch left, with ``throw_on_early_termination``.

    Examples
    --------
    >>> import tt
    >>> from tt.distributed.algorithms import Join
    >>> Join([])
    Traceback (most recent call last):
        ...
    ValueError: The join context manager requires at least one joinable
    """

    def __init__(
        self,
        joinables: list[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable = enable
        self._throw = throw_on_early_termination
        self._group = _only(
            {id(j.join_process_group): j.join_process_group for j in joinables}, "process group"
        )
        self._device = _only({str(j.join_device): j.join_device for j in joinables}, "device")
        for index, joinable in enumerate(joinables):
            joinable._join_config = _JoinConfig(enable, throw_on_early_termination, index == 0)
        self._rank = ranks.get_rank(self._group)

    def __enter__(self) -> None:
        """Count batches from now on."""

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Answer the others until all are done; an error of the body passes."""
        if not self._enable or kind is not None:
            return
        finished, last, batches = False, True, 0
        while not finished:
            # Ranks with batches add one each in `notify_join_context`: a sum of zero says that all are
            # done.
            going = tt.zeros(1, device=self._device)
            collectives.all_reduce(going, group=self._group)
            if going.item() == 0:
                finished = True
                continue
            # The second sum, which the others wait for in `notify_join_context`: they raise, too.
            if self._throw:
                collectives.all_reduce(tt.ones(1, device=self._device), group=self._group)
                raise RuntimeError(f"Rank {self._rank} exhausted all inputs.")
            last = False
            batches += 1
            if batches == _OFTEN:
                warn_user(
                    f"Detected uneven input skew of greater than {_OFTEN}. This means that rank {self._rank} has at "
                    f"least {_OFTEN} fewer inputs than other currently-active ranks. This level of skew could lead to "
                    "performance degradation during training.",
                )
            for hook in self._hooks:
                hook.main_hook()
        # A rank that has answered nobody is among the last: its parameters are the ones to hand on.
        for hook in self._hooks:
            hook.post_hook(last)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Tell the ranks that are done that this one has another batch.

        Raises
        ------
        RuntimeError
            A rank is done, with ``throw_on_early_termination``.

        Notes
        -----
        Only the first joinable of a `Join` speaks; the others return None.
        """
        config = joinable._join_config
        if not config.is_first_joinable or not config.enable:
            return None
        group, device = joinable.join_process_group, joinable.join_device
        work = collectives.all_reduce(tt.ones(1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination:
            done = tt.zeros(1, device=device)
            collectives.all_reduce(done, group=group)
            if done.item() > 0:
                raise RuntimeError(
                    "Detected at least one rank that exhausted inputs. Throwing across all ranks."
                )
        return work


def _only(found: dict[Any, Any], what: str) -> Any:
    if len(found) > 1:
        raise ValueError(f"Using join context manager with multiple {what}s")
    return next(iter(found.values()))
