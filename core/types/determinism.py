"""Whether the program requires results with the same bits in every run; kernels and backends read it.

Kernels whose results depend on the order in which threads finish have another way, in a fixed order; if there is
none, they call `refuse`.
"""

from __future__ import annotations

from typing import Final

from tt.core.errors import NondeterministicError
from tt.core.types.user_warnings import warn_user

__all__ = ["DETERMINISM", "Determinism"]


class Determinism:
    """The setting of this process; there is one object, `DETERMINISM`.

    Attributes
    ----------
    required : bool
        Whether the results of operators must have the same bits in every run.
    warn_only : bool
        Whether an operator that cannot do so warns; else it raises.
    fill : bool
        Whether new memory that nothing is written to is filled while `required`.

    Examples
    --------
    >>> import tt
    >>> from tt.library import DETERMINISM
    >>> DETERMINISM.refuse("acme::scatter")  # nothing is required: a kernel may add in any order
    >>> tt.use_deterministic_algorithms(True)
    >>> DETERMINISM.required
    True
    >>> tt.use_deterministic_algorithms(False)
    """

    __slots__ = ("fill", "required", "warn_only")

    required: bool
    warn_only: bool
    fill: bool

    def __init__(self) -> None:
        self.required = self.warn_only = False
        self.fill = True

    def refuse(self, operator: str, hint: str = "warn_only=True, or the operator on the CPU") -> None:
        """Raise, or warn, because an operator would give other bits in another run; does nothing unless required.

        Parameters
        ----------
        operator : str
            Its name.
        hint : str
            What the error advises.

        Raises
        ------
        NondeterministicError
            If deterministic algorithms are required and not only warned about.

        Examples
        --------
        >>> from tt.core.types.determinism import Determinism
        >>> Determinism().refuse("histc")
        """
        if not self.required:
            return
        if not self.warn_only:
            raise NondeterministicError(operator, hint)
        warn_user(
            f"{operator} has no deterministic algorithm: its results may differ in the last bits from run to run"
        )


DETERMINISM: Final = Determinism()
