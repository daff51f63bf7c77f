"""Why a name of PyTorch does not exist in tt, for the errors that unknown names raise."""

from __future__ import annotations

__all__ = ["reason"]


def reason(name: str) -> str:
    """Return why a name below `torch` is left out on purpose and what to use, or an empty string.

    Examples
    --------
    >>> from tt._compat.reasons import reason
    >>> print(reason("nn.functional.boolean_dispatch"))
    TorchScript and its internals do not exist
      instead: the function or module itself, which runs as Python
    >>> reason("nn.functional.relu")
    ''
    """
    from tt._compat.left_out import left_out  # here: only errors need the table

    row = left_out(name)
    return "" if row is None else f"{row.reason}\n  instead: {row.instead}"
