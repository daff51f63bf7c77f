"""Arguments that an operator refuses: their kind, their value, their combination."""

from __future__ import annotations

from collections.abc import Sequence

from tt.core.errors.base import TTError


class ArgumentError(TTError, TypeError):
    """An argument that an operator does not take, lacks, or takes in another type."""

    def __init__(self, op: str, problem: str, *, signatures: Sequence[str] = (), hint: str = "") -> None:
        self.op, self.problem, self.signatures, self.hint = op, problem, tuple(signatures), hint
        lines = [f"{op}(): {problem}"]
        lines += [f"  signature: {signature}" for signature in self.signatures]
        lines += [f"  {hint}"] if hint else []
        super().__init__("\n".join(lines))


class ValueRangeError(TTError, ValueError, RuntimeError):
    """An argument of the right type whose value is not allowed.

    PyTorch raises ValueError in some of these places and RuntimeError in others; this is both.
    """


class ChoiceError(ArgumentError, ValueRangeError):
    """An argument that chooses, by one of some words or kinds of values, and is none of them."""


class AssertedError(ValueRangeError, AssertionError):
    """An argument that PyTorch refuses by an assertion."""


class NumberRangeError(ValueRangeError, RuntimeError):
    """A number that a dtype cannot hold."""


class ElementCountError(ValueRangeError, RuntimeError):
    """A tensor of more or less than one element where one number is needed."""


class DivisionByZeroError(TTError, RuntimeError, ZeroDivisionError):
    """Integers divided by zero; PyTorch raises a RuntimeError whose text is "ZeroDivisionError"."""


class LinAlgError(TTError, RuntimeError):
    """A matrix for which a decomposition or an inverse does not exist."""


class UnsupportedError(TTError, NotImplementedError, ValueError):
    """An option, or a combination of arguments, that an operator does not have."""


class NondeterministicError(TTError, RuntimeError):
    """An operator whose results may differ from run to run, while `tt.use_deterministic_algorithms` is on."""

    def __init__(self, operator: str, hint: str = "warn_only=True, or the operator on the CPU") -> None:
        self.operator = operator
        super().__init__(
            f"{operator} has no deterministic algorithm, and tt.use_deterministic_algorithms(True) is set\n"
            f"  try: {hint}"
        )


class NothingToCheckError(TTError, ValueError):
    """A check that would make no call: no operator of those that are meant has inputs for it."""

    def __init__(self, backend: str, patterns: Sequence[str] = ()) -> None:
        self.backend, self.patterns = backend, tuple(patterns)
        which = f"that matches {', '.join(self.patterns)}" if patterns else "of this backend"
        super().__init__(
            f"nothing was checked on {backend}: no operator {which} has samples\n"
            "  try: `samples:` in its entry, or tt.library.opcheck with inputs of your own"
        )
