"""The degrees of freedom of a variance."""

from __future__ import annotations

from tt.core.types.user_warnings import warn_user

__all__ = ["degrees_of_freedom"]


def degrees_of_freedom(op: str, count: int, correction: float | None) -> float:
    """Return the divisor of a sum of squared deviations, with a warning where it is 0.

    Parameters
    ----------
    op : str
        The operator, for the warning.
    count : int
        How many elements one result combines.
    correction : number, optional
        By how much fewer elements count; 1 by default.

    Examples
    --------
    >>> from tt.core.types.freedom import degrees_of_freedom
    >>> degrees_of_freedom("var", 5, None), degrees_of_freedom("var", 5, 0)
    (4, 5)
    """
    freedom = count - (1 if correction is None else correction)
    if freedom > 0:
        return freedom
    warn_user(
        f"{op}(): degrees of freedom is <= 0: the correction must be less than the number of elements that one result "
        f"combines, {count}"
    )
    return 0
