"""torch.torch_version: a version that compares by its numbers with texts, tuples and versions."""

from __future__ import annotations

import re
from typing import Any, Final

__all__ = ["TorchVersion", "__version__"]

_RELEASE: Final = re.compile(r"v?(\d+(?:\.\d+)*)(a|alpha|b|beta|c|rc|dev|\.dev|post|\.post)?(\d*)")
_ORDER: Final = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "c": -1, "rc": -1, "post": 1}


class TorchVersion(str):
    """A version as a text that compares by its numbers.

    What follows a `+` does not count.

    Examples
    --------
    >>> from tt._compat.torch import TorchVersion
    >>> TorchVersion("2.13.0+tt") > "2.9", TorchVersion("2.13.0+tt") >= (2, 13), TorchVersion("2.13.0a1") < "2.13"
    (True, True, True)
    """

    __slots__ = ()
    __hash__ = str.__hash__

    def __lt__(self, other: Any) -> bool:
        return _key(self) < _key(other)

    def __le__(self, other: Any) -> bool:
        return _key(self) <= _key(other)

    def __eq__(self, other: object) -> bool:
        try:
            return _key(self) == _key(other)
        except ValueError:
            return str.__eq__(self, str(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __ge__(self, other: Any) -> bool:
        return _key(self) >= _key(other)

    def __gt__(self, other: Any) -> bool:
        return _key(self) > _key(other)


def _key(version: Any) -> tuple[tuple[int, ...], int, int]:
    """Return what versions are compared by: the numbers of the release, its kind, and the number of that."""
    text = ".".join(map(str, version)) if isinstance(version, list | tuple) else str(version)
    match = _RELEASE.match(text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is no version")
    numbers, kind, number = match.groups()
    release = [int(part) for part in numbers.split(".")]
    while release and release[-1] == 0:  # 2.13 is 2.13.0
        release.pop()
    return tuple(release), _ORDER[kind.lstrip(".")] if kind else 0, int(number or 0)


__version__: Final = TorchVersion("2.13.0+tt")
