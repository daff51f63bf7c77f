"""Signatures, prepared for the path of every call; see Note [The fast path] in `op_overload`.

This is a hot module: plain Python that Cython compiles with the C types of `signature.pxd`.  `binding` makes the plans.
"""

from __future__ import annotations

from typing import Any

from tt.core.dispatch.call.codes import NO_DEFAULT

__all__ = ["SignaturePlan"]


class SignaturePlan:
    """Binds and checks arguments, and turns them into keys and bits; shared by the functional and the in-place form.

    Attributes
    ----------
    steps : tuple of (position, how, shift)
        How the arguments make the keys and bits; shifts are those in the second word (Note [Level 2] in `promotion`).
    wide : bool
        Whether the positions do not all fit into the second word: then `OpOverload.scan` makes it.
    leading : int
        With how many tensors a call may do: 1 or 2, if all arguments behind have defaults; else 0.
    tail : tuple
        Defaults of the arguments behind the leading tensors.
    kinds : bytes
        The values that each parameter takes unconverted; see `codes`.
    shifts : tuple of int
        Position of each tensor's dtype in the second word; 0: it promotes; -1: it does not count.
    lengths : tuple of int
        N for each parameter `int[N]`, which takes one number for all, else 0.
    required, positional : int
        How many arguments a call must have, and may give by position.
    variadic : int
        Position of the sizes that may be given one by one, or -1.
    defaults : tuple
        Of each parameter; NO_DEFAULT if there is none.
    tails : tuple of tuple
        The defaults of omitted arguments, for each number of given ones.
    names : dict of str to int
        The positions of the parameters.
    looks_at_all : bool
        Whether some default promotes with the tensors.
    ranged : bool
        Whether some number has to be in the range of the dtype; see Note [Numbers in range] in `number_ranges`.
    """

    __slots__ = (
        "defaults", "kinds", "leading", "lengths", "looks_at_all", "names", "positional", "ranged", "required",
        "shifts", "steps", "tail", "tails", "variadic", "wide",
    )  # fmt: skip

    steps: tuple[tuple[int, int, int], ...]
    wide: bool
    ranged: bool
    leading: int
    tail: tuple[Any, ...]
    kinds: bytes
    shifts: tuple[int, ...]
    lengths: tuple[int, ...]
    required: int
    positional: int
    variadic: int
    defaults: tuple[Any, ...]
    tails: tuple[tuple[Any, ...], ...]
    names: dict[str, int]
    looks_at_all: bool

    def placed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """Return all arguments in order, with defaults for omitted ones; None if they do not fit."""
        count = len(args)
        if count > self.positional:
            return None
        placed = list(args)
        placed.extend(self.tails[count])
        names = self.names
        for name, value in kwargs.items():
            known = names.get(name)
            if known is None:
                return None
            position = known
            # Provided by position, too: the binder raises Python's error for it.
            if position < count:
                return None
            placed[position] = value
        if count < self.required:
            defaults = self.defaults
            missing = 0
            for position in range(count, len(placed)):
                if defaults[position] is NO_DEFAULT and placed[position] is NO_DEFAULT:
                    missing = 1
            if missing != 0:
                return None
        return tuple(placed)
