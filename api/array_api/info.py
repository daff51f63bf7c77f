"""The contents of the namespace: devices, dtypes and capabilities."""

from __future__ import annotations

from typing import Any, Final

import tt
from tt.array_api.dtypes import KINDS

__all__ = ["Info", "__array_namespace_info__"]

_NAMES: Final = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
    "complex128",
)  # fmt: skip


class Info:
    """The result of `__array_namespace_info__`."""

    def capabilities(self) -> dict[str, Any]:
        """Return the supported features.

        Examples
        --------
        >>> from tt import array_api as xp
        >>> xp.__array_namespace_info__().capabilities()["max dimensions"]
        64
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> tt.device:
        """Return the device of new arrays.

        Examples
        --------
        >>> from tt import array_api as xp
        >>> xp.__array_namespace_info__().default_device()
        device(type='cpu')
        """
        return tt.get_default_device()

    def default_dtypes(self, *, device: tt.device | str | None = None) -> dict[str, tt.dtype]:
        """Return the dtypes of new arrays.

        Examples
        --------
        >>> from tt import array_api as xp
        >>> xp.__array_namespace_info__().default_dtypes()["indexing"]
        tt.int64
        """
        real = tt.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": real.to_complex(),
            "integral": tt.int64,
            "indexing": tt.int64,
        }

    def dtypes(
        self, *, device: tt.device | str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, tt.dtype]:
        """Return the dtypes of the standard by their names, all or those of some kinds.

        Examples
        --------
        >>> from tt import array_api as xp
        >>> xp.__array_namespace_info__().dtypes(kind="real floating")
        {'float32': tt.float32, 'float64': tt.float64}
        """
        kinds = tuple(KINDS) if kind is None else (kind,) if isinstance(kind, str) else kind
        wrong = [one for one in kinds if one not in KINDS]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is not a kind of dtypes\n  kinds: {', '.join(map(repr, KINDS))}")
        members = {dtype for one in kinds for dtype in KINDS[one]}
        return {name: getattr(tt, name) for name in _NAMES if getattr(tt, name) in members}

    def devices(self) -> list[tt.device]:
        """Return the devices that this process can use.

        Examples
        --------
        >>> import tt
        >>> from tt import array_api as xp
        >>> tt.device("cpu") in xp.__array_namespace_info__().devices()
        True
        """
        result = [tt.device("cpu")]
        if tt.cuda.is_available():
            result += [tt.device("cuda", index) for index in range(tt.cuda.device_count())]
        return result


def __array_namespace_info__() -> Info:  # noqa: N807 - the standard's name
    """Return the contents of the namespace: devices, dtypes and capabilities.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.__array_namespace_info__().default_dtypes()["integral"]
    tt.int64
    """
    return Info()
