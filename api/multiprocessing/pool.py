"""Pools of processes that call functions; tensors among arguments and results are shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from multiprocessing import pool
from typing import Any

__all__ = ["Pool"]


class Pool(pool.Pool):
    """Processes that call functions; see `multiprocessing.pool.Pool`.

    Examples
    --------
    >>> import tt
    >>> import tt.multiprocessing as mp
    >>> with mp.get_context("fork").Pool(2) as pool:
    ...     pool.map(tt.sum, [tt.ones(3), tt.ones(5)])
    [tensor(3.), tensor(5.)]
    """

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: Iterable[Any] = (),
        maxtasksperchild: int | None = None,
        context: Any = None,
    ) -> None:
        if context is None:
            from tt.multiprocessing.contexts import get_context  # contexts make pools

            context = get_context()
        super().__init__(processes, initializer, initargs, maxtasksperchild, context)
