"""tt.utils.flop_counter: how many floating-point operations a program makes, counted where operators are dispatched.

Products, convolutions, attention and recurrent layers are counted, forward and backward: a multiplication and an
addition are two operations.  Everything else counts as nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Final, Self

import tt
from tt.errors import ArgumentError
from tt.library import warn_user
from tt.utils._python_dispatch import TTDispatchMode
from tt.utils._pytree import tree_map
from tt.utils.module_tracker import ModuleTracker

if TYPE_CHECKING:
    from tt.nn import Module

__all__ = ["FlopCounterMode", "register_flop_formula"]

Formula = Callable[..., int]
Shape = tuple[int, ...]

_FORMULAS: Final[dict[str, Formula]] = {}


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Return a decorator for a function that says how many operations an operator makes.

    The function is called with the arguments of the operator, shapes for tensors, and with `out_shape`; with
    `get_raw`, with the tensors themselves, and with `out_val`.

    Parameters
    ----------
    targets : operator, or list of operators
        Such as `tt.ops.mm`.
    get_raw : bool
        Whether the function takes tensors.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.flop_counter import FlopCounterMode, register_flop_formula
    >>> @register_flop_formula(tt.ops.cumsum)
    ... def cumsum_flop(x, *args, out_shape, **kwargs):
    ...     return x[0]
    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = tt.ones(5).cumsum(0)
    >>> counter.get_total_flops()
    5
    """
    names = [_name_of(target) for target in (targets if isinstance(targets, list | tuple) else [targets])]

    def register(formula: Formula) -> Formula:
        for name in names:
            _FORMULAS[name] = formula if get_raw else _of_shapes(formula)
        return formula

    return register


def _name_of(target: object) -> str:
    """Return the name of an operator without that of an overload."""
    name = (
        target
        if isinstance(target, str)
        else getattr(target, "name", None) or getattr(target, "__name__", None)
    )
    if not isinstance(name, str):
        raise ArgumentError("register_flop_formula", f"takes operators such as tt.ops.mm, not {target!r}")
    return name.split(".")[0]


def _of_shapes(formula: Formula) -> Formula:
    def of_tensors(*args: Any, out_val: object, **kwargs: Any) -> int:
        shapes, keywords, out = tree_map(_shape, (args, kwargs, out_val))
        return formula(*shapes, out_shape=out, **keywords)

    return of_tensors


def _shape(value: object) -> Any:
    return tuple(value.shape) if tt.is_tensor(value) else value


# --- what operators make -----------------------------------------------------------------------------------------


@register_flop_formula(["mm", "bmm", "matmul", "mv", "dot", "linear"])
def _product(first: Shape, *args: Any, out_shape: Shape, **kwargs: Any) -> int:
    # A multiplication and an addition for each pair that is summed.
    return 2 * prod(out_shape) * first[-1]


@register_flop_formula(["addmm", "baddbmm", "addmv", "addbmm", "_addmm_activation"])
def _added_product(self: Shape, first: Shape, *args: Any, out_shape: Shape, **kwargs: Any) -> int:
    return 2 * prod(out_shape) * first[-1]


@register_flop_formula(["conv1d", "conv2d", "conv3d"])
def _convolution(x: Shape, weight: Shape, *args: Any, out_shape: Shape, **kwargs: Any) -> int:
    return 2 * prod(out_shape) * prod(weight[1:])


@register_flop_formula(["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"])
def _transposed(x: Shape, weight: Shape, *args: Any, **kwargs: Any) -> int:
    # Each input element meets each weight of its channel, whatever the size of the output.
    return 2 * prod(x) * prod(weight[1:])


@register_flop_formula("_conv_weight")
def _weight_gradient(x: Shape, grad: Shape, weight: Shape, *args: Any, **kwargs: Any) -> int:
    return 2 * prod(grad) * prod(weight[1:])


@register_flop_formula("_attention")
def _attention(query: Shape, key: Shape, value: Shape, *args: Any, **kwargs: Any) -> int:
    # Q K^T sums over the queries' size, and its product with V over the keys.
    return 2 * prod(query[:-1]) * key[-2] * (query[-1] + value[-1])


@register_flop_formula("_attention_backward")
def _attention_backward(
    grad: Shape, query: Shape, key: Shape, value: Shape, *args: Any, **kwargs: Any
) -> int:
    # Five products: Q K^T again, and the gradients of Q and K; those of V and of the weights have V's
    # size.
    return 2 * prod(query[:-1]) * key[-2] * (3 * query[-1] + 2 * value[-1])


@register_flop_formula("_rnn_layer")
def _recurrent(x: Shape, h: Shape, c: Any, weight: Shape, recurrent: Shape, *args: Any, **kwargs: Any) -> int:
    projection = [a for a in args[2:4] if isinstance(a, tuple) and len(a) == 2]
    return 2 * prod(x[:-1]) * (prod(weight) + prod(recurrent) + sum(map(prod, projection)))


# --- counting ----------------------------------------------------------------------------------------------------


class FlopCounterMode(TTDispatchMode):
    """A context that counts the floating-point operations in it, by operator and by module.

    Parameters
    ----------
    mods : Module or list of Module, optional
        Accepted for compatibility: all modules are told apart.
    depth : int
        How deep modules are in the table that is printed.
    display : bool
        Whether the table is printed at the end.
    custom_mapping : dict, optional
        Formulas of operators for this counter, as `register_flop_formula` takes them.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.flop_counter import FlopCounterMode
    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = tt.ones(2, 3) @ tt.ones(3, 4)
    >>> counter.get_total_flops(), counter.get_flop_counts()
    (48, {'Global': {'matmul': 48}})
    """

    def __init__(
        self,
        mods: Module | list[Module] | None = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: Mapping[Any, Formula] | None = None,
    ) -> None:
        super().__init__()
        if mods is not None:
            warn_user("FlopCounterMode(): mods is not needed: all modules are told apart")
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._formulas = {_name_of(op): _custom(formula) for op, formula in (custom_mapping or {}).items()}
        self._tracker = ModuleTracker()

    def __enter__(self) -> Self:
        self.flop_counts.clear()
        self._tracker.__enter__()
        return super().__enter__()

    def __exit__(self, *error: Any) -> Any:
        left = super().__exit__(*error)
        self._tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))
        return left

    def __tt_dispatch__(
        self,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Count a call."""
        kwargs = kwargs or {}
        # Before the count, for formulas may use the shape of the result.
        result = func(*args, **kwargs)
        name = _name_of(func)
        formula = self._formulas.get(name) or _FORMULAS.get(name)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=result)
            for parent in self._tracker.parents:
                self.flop_counts[parent][name] += count
        return result

    def get_total_flops(self) -> int:
        """Return how many operations were made."""
        return sum(self.flop_counts["Global"].values()) if "Global" in self.flop_counts else 0

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """Return how many operations each module made, by the name of the operator; "Global" is the program."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Return the counts of modules as a text.

        Parameters
        ----------
        depth : int, optional
            How deep modules are shown; all of them by default.
        """
        total = self.get_total_flops()
        rows = [("Module", "FLOP", "% Total")]
        for module, counts in _sorted(self.flop_counts):
            level = 0 if module == "Global" else module.count(".") + 1
            if depth is not None and level > depth:
                continue
            rows.append(_row("  " * level + module, sum(counts.values()), total))
            rows += [_row("  " * (level + 1) + f"- {name}", count, total) for name, count in counts.items()]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _custom(formula: Formula) -> Formula:
    return formula if getattr(formula, "_get_raw", False) else _of_shapes(formula)


def _sorted(counts: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    return sorted(counts.items(), key=lambda item: (item[0] != "Global", item[0]))


def _row(name: str, count: int, total: int) -> tuple[str, str, str]:
    number = f"{count}"
    for unit, size in (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= 10 * size:
            number = f"{count / size:.3f}{unit}"
            break
    return name, number, f"{100 * count / total if total else 0:.2f}%"
