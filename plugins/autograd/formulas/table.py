"""Tables of formulas, with which a plugin makes its operators differentiable."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tt.core.library import Tensor

__all__ = ["Formula", "Formulas", "Unwritten", "zero"]

Gradient = Callable[..., Any]


def zero(g: Tensor) -> Tensor:
    """Return zeros: the formula of an argument whose small changes do not change the result."""
    from tt.core.library import ops

    return ops.zeros_like(g)


@dataclass(frozen=True)
class Unwritten:
    """The formula of an argument whose derivative nobody has written: a pass that needs it raises.

    Attributes
    ----------
    what : str
        The operator and the argument, for instance "igamma: self".
    """

    what: str

    def __call__(self, g: Any) -> Any:
        """Refuse."""
        from tt.core.library import errors

        raise errors.NoDerivativeError(f"the derivative for {self.what!r} is not implemented")


@dataclass(frozen=True, eq=False)
class Formula:
    """The derivative of one operator.

    Attributes
    ----------
    op : str
        Qualified name, for instance "max.dim".
    gradients : dict of str to callable
        Argument -> function of the result's gradient (`g`, or `gs` for those of all results) and of the saved values.
    backward, setup_context : callable or None
        Instead of `gradients`: PyTorch's form for custom operators, `backward(ctx, *gradients)` and
        `setup_context(ctx, inputs, output)`.
    joint, saves : callable or None, tuple of str
        Instead of `gradients`: one function of the gradient (`g` or `gs`) and of what `saves` names, for all arguments.
    reusable : bool
        Whether a second backward may use what is saved: tables that composites make, small and seen by nobody else.
    """

    op: str
    gradients: dict[str, Gradient] = field(default_factory=dict)
    backward: Callable[..., Any] | None = None
    setup_context: Callable[..., None] | None = None
    joint: Gradient | None = None
    saves: tuple[str, ...] = ()
    reusable: bool = False


class Formulas:
    """A table of formulas, one line for each operator.

    The parameter names of a formula name the values to save: `g` is the gradient of the (first) result, or `gs` a
    list with those of all results, None where one is not used; any other name is an argument of the operator, a named
    result, `result` for the first one, or a fact of an argument: `self_shape`, `self_dtype`, `self_device`,
    `self_strides`, `self_offset` (lists of these for an argument that is a list of tensors).

    A formula may leave the sum over broadcast dims, the cast to the dtype of the argument and the real part of what
    belongs to a real argument to the engine.  For complex numbers it computes PyTorch's convention, the conjugate of
    the derivative times the gradient.

    Examples
    --------
    >>> from tt.plugins.autograd.formulas.table import Formulas
    >>> d = Formulas()
    >>> d.of("mul", self=lambda g, other: g * other, other=lambda g, self: g * self)
    >>> sorted(d.formulas)
    ['mul']
    """

    layer = "autograd"

    def __init__(self) -> None:
        self.formulas: dict[str, Formula] = {}

    def of(self, op: str, /, **gradients: Gradient) -> None:
        """Add the formulas of an operator: one keyword for each argument that has a gradient."""
        self._add(Formula(op, gradients))

    def tables(self, op: str, /, **gradients: Gradient) -> None:
        """Add the formulas of an operator that saves only tables: a graph of such operators can be used again."""
        self._add(Formula(op, gradients, reusable=True))

    def joint(self, op: str, function: Gradient) -> None:
        """Add one formula for all arguments that may be tensors: it returns their gradients in order, or None for each.

        Its parameter names name the saved values, as in `of`.
        """
        self._add(Formula(op, joint=function, saves=tuple(inspect.signature(function).parameters)[1:]))

    def backward(
        self, op: str, function: Callable[..., Any], setup_context: Callable[..., None] | None = None
    ) -> None:
        """Add a formula in the form that PyTorch's custom operators have.

        Parameters
        ----------
        op : str
            Qualified name of the operator.
        function : callable
            `function(ctx, *gradients)` returns the gradients of all arguments, or of the only one.
        setup_context : callable, optional
            `setup_context(ctx, inputs, output)` saves what `function` needs.
        """
        self._add(Formula(op, {}, function, setup_context))

    def _add(self, formula: Formula) -> None:
        if formula.op in self.formulas:
            raise ValueError(f"the table already has a formula for {formula.op!r}")
        self.formulas[formula.op] = formula
