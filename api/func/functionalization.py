"""Functions without mutations: a public name of `tt.func`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tt.errors import ValueRangeError

__all__ = ["functionalize"]


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Return a function with the results of another, in which in-place operations are replaced.

    No call of the function is recorded, so operations run as they are written: backends whose arrays cannot change
    replace in-place operations by themselves, and on the others the results are the same.

    Parameters
    ----------
    func : callable
        A function of tensors.
    remove : str
        "mutations", or "mutations_and_views".

    Raises
    ------
    ValueRangeError
        For another `remove`.

    Examples
    --------
    >>> import tt
    >>> tt.func.functionalize(lambda x: x.clone().add_(1))(tt.zeros(2))
    tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise ValueRangeError(
            f"functionalize(): remove is 'mutations' or 'mutations_and_views', not {remove!r}"
        )

    @functools.wraps(func)
    def functionalized(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return functionalized
