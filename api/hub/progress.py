"""Progress of downloads: tqdm's bar where the package is installed, else a line that counts.

Libraries import the name `tqdm` from the hub, so that they need not ask whether there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, Self

__all__ = ["Counter", "bar"]


class Counter:
    """Count on one line of stderr, with the few methods of tqdm that downloads use.

    Parameters
    ----------
    iterable : iterable, optional
        What is counted, one by one; without it, `update` counts.
    total : int, optional
        The number to reach.
    disable : bool
        Whether nothing is written; a log file never gets the line.
    **options
        Further options of tqdm, which a counter has no use for.

    Examples
    --------
    >>> from tt.hub.progress import Counter
    >>> with Counter(total=2, disable=True) as counter:
    ...     counter.update(2)
    >>> counter.n
    2
    """

    def __init__(
        self,
        iterable: Iterable[Any] | None = None,
        *,
        total: int | None = None,
        disable: bool = False,
        **options: Any,
    ) -> None:
        self.iterable, self.total, self.n = iterable, total, 0
        self.disable = disable or not sys.stderr.isatty()

    def update(self, n: float = 1) -> None:
        """Count further."""
        self.n += int(n)
        if not self.disable:
            end = f" of {self.total:,}" if self.total is not None else ""
            sys.stderr.write(f"\r{self.n:,}{end}")

    def close(self) -> None:
        """End the line."""
        if not self.disable:
            self.disable = True
            sys.stderr.write("\n")

    def __iter__(self) -> Iterator[Any]:
        for item in self.iterable or ():
            yield item
            self.update()
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def set_description(self, *args: object, **kwargs: object) -> None:
        """Do nothing: the line has numbers only."""


def bar() -> Any:
    """Return the class that shows progress: that of the package tqdm, or `Counter`."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Counter
    return tqdm
