"""Calls of a module with other parameters and buffers than its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import tt
from tt.library import warn_user
from tt.nn import Module

__all__ = ["functional_call"]

_ABSENT = object()


def _ties(module: tt.nn.Module) -> dict[str, list[str]]:
    """Return for each name of a tensor with several names all of them."""
    names: dict[int, list[str]] = {}
    for members in (module.named_parameters, module.named_buffers):
        # Duplicates are what is looked for.
        for name, tensor in members(remove_duplicate=False):
            names.setdefault(id(tensor), []).append(name)
    return {name: tied for tied in names.values() if len(tied) > 1 for name in tied}


def _with_ties(module: tt.nn.Module, given: Mapping[str, tt.Tensor]) -> dict[str, tt.Tensor]:
    """Return the tensors under every name that the one they replace has.

    Raises
    ------
    ValueError
        If two names of one tensor are given different ones.
    """
    tied = dict(given)
    ties = _ties(module)
    for name, tensor in given.items():
        for other in ties.get(name, ()):
            if other in given and given[other] is not tensor:
                raise ValueError(
                    f"{name!r} and {other!r} are names of one tensor, and were given different ones\n"
                    "  try: tie_weights=False"
                )
            tied[other] = tensor
    return tied


def _swap(module: Any, path: str, value: Any) -> Any:
    """Put a tensor into the table that holds a name, and return what was there."""
    parent, _, name = path.rpartition(".")
    owner = module.get_submodule(parent)
    # Written into the tables, since an assignment refuses tensors that are no parameters.
    for table in (owner._parameters, owner._buffers):
        if name in table:
            before = table[name]
            table[name] = value
            return before
    before = getattr(owner, name, _ABSENT)
    if before is not _ABSENT and not isinstance(before, tt.Tensor):
        raise TypeError(f"{path!r} is a {type(before).__name__}, not a tensor")
    if value is _ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, value)
    return before


@contextmanager
def _replaced(module: Module, given: dict[str, Any], tie_weights: bool, strict: bool) -> Iterator[None]:
    for name, value in given.items():
        if value is not None and not isinstance(value, tt.Tensor):  # None leaves a parameter out: no bias
            raise TypeError(f"{value} given for {name!r} is not an instance of Tensor")
    replacements = _with_ties(module, given) if tie_weights else dict(given)
    if strict:
        own = {
            n
            for members in (module.named_parameters, module.named_buffers)
            for n, _ in members(remove_duplicate=False)
        }
        missing, surplus = sorted(own - replacements.keys()), sorted(replacements.keys() - own)
        if missing or surplus:
            parts = [f"Unexpected key(s): {', '.join(surplus)}"] * bool(surplus)
            parts += [f"Missing key(s): {', '.join(missing)}"] * bool(missing)
            raise RuntimeError(
                f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(parts)
            )
    before: dict[str, Any] = {}
    try:
        for name, value in replacements.items():
            # Entered one by one: after an error only what was exchanged goes back.
            before[name] = _swap(module, name, value)
        yield
    finally:
        after = {name: _swap(module, name, value) for name, value in before.items()}
        # What forward assigned to a buffer is the caller's.
        given.update((name, after[name]) for name in given if name in after)


def call_replaced(
    module: tt.nn.Module,
    parameters_and_buffers: dict[str, tt.Tensor] | Sequence[dict[str, tt.Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers, as `functional_call` describes it."""
    values: Any = parameters_and_buffers
    if not isinstance(values, dict):
        if isinstance(values, (str, tt.Tensor)) or not all(isinstance(part, dict) for part in values):
            raise ValueError("Expected all elements of parameters_and_buffers to be dictionaries")
        names = [name for part in values for name in part]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(
                f"{repeated} appear in multiple dictionaries; only one is permitted for each name"
            )
        values = {name: tensor for part in values for name, tensor in part.items()}
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, values, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


def functional_call(
    module: tt.nn.Module,
    parameters_and_buffers: dict[str, tt.Tensor] | Sequence[dict[str, tt.Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers in place of its own, which it has again afterwards.

    `tt.func.functional_call` is its newer place.

    Parameters
    ----------
    module : Module
        The module.
    parameters_and_buffers : dict of str to Tensor, or several
        Tensors by name; the others stay.
    args : tuple or Any
        The arguments; anything but a tuple is the only one.
    kwargs : dict, optional
        The keyword arguments.
    tie_weights : bool
        Whether one tensor for a parameter with several names replaces it under all of them.
    strict : bool
        Whether the names have to be exactly those of the module.

    Raises
    ------
    RuntimeError
        With `strict`, for names that are missing or too many.
    ValueError
        For a name in several dictionaries, or different tensors for one with several names.
    TypeError
        For a value that is not a tensor.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.Linear(1, 1)
    >>> weights = {"weight": tt.full((1, 1), 2.0), "bias": tt.ones(1)}
    >>> tt.func.functional_call(layer, weights, tt.tensor([[3.0]]))
    tensor([[7.]])
    """
    warn_user(
        "tt.nn.utils.stateless.functional_call is deprecated: use tt.func.functional_call", FutureWarning
    )
    return call_replaced(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


@contextmanager
def _reparametrize_module(
    module: tt.nn.Module,
    parameters_and_buffers: dict[str, tt.Tensor],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> Iterator[None]:
    """Let a module have other parameters and buffers inside a `with` block: the name that libraries import."""
    with _replaced(module, parameters_and_buffers, tie_weights, strict):
        yield
