"""Warnings that point at the program, however many of tt's frames lie between it and the warning."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn_user"]


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside tt.

    A fixed `stacklevel` would count the frames of one way to the operator: methods, modes and layers add others, and
    Python shows a warning once for each line that it points at.

    Examples
    --------
    >>> import warnings
    >>> from tt.core.types.user_warnings import warn_user
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("deprecated")
    >>> str(caught[0].message)
    'deprecated'
    """
    level, frame = 2, sys._getframe(1)
    # Functions that tt writes have no module.
    while frame.f_back is not None and f"{frame.f_globals.get('__name__', 'tt')}.".startswith("tt."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
