"""Finds the layer of a model that raised an error, and the argument that it refused.

An error of an operator names shapes and dtypes; in a model of a hundred layers the question is which one was called.
Each module that an error of tt passes on its way out puts its part of the path into one note of the exception.  What
Python itself raises in a layer that was given something other than tensors becomes an error that names the argument.
"""

from __future__ import annotations

import dis
import inspect
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tt.nn.modules.calling import ModuleBase

__all__ = ["note_layer", "refused_argument"]

_MARK: Final = "_tt_layer"

_RAISE: Final = dis.opmap["RAISE_VARARGS"]

_TENSORS: Final = ({"tt.Tensor"}, {"tt.Tensor", "None"})
"""The annotations that say what an argument is."""


def _origin(error: Exception) -> tuple[str, bool]:
    """Return the module whose code an exception comes from, and whether a `raise` statement raised it."""
    at = error.__traceback__
    if at is None:
        return "", True
    # The innermost frame is where the error was raised.
    while at.tb_next is not None:
        at = at.tb_next
    code = at.tb_frame.f_code.co_code  # empty in compiled modules, which raise only on purpose
    stated = not 0 <= at.tb_lasti < len(code) or code[at.tb_lasti] == _RAISE
    return at.tb_frame.f_globals.get("__name__", ""), stated


def refused_argument(
    module: ModuleBase, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Exception | None:
    """Return the error that names the argument that a layer does not take, or None to leave an error as it is.

    Parameters
    ----------
    module : Module
        The layer; only those of `tt.nn` are explained.
    error : Exception
        What its call raised; only what Python raises by itself in tt's code is replaced.
    args, kwargs : tuple, dict
        The arguments of the call.

    Examples
    --------
    >>> import tt
    >>> try:
    ...     tt.nn.BatchNorm1d(3)(None)
    ... except TypeError as error:
    ...     print(error)
    BatchNorm1d(): argument 'input' (position 1) must be Tensor, not NoneType
    """
    import tt
    from tt.errors import ArgumentError, IndexValueError, TTError
    from tt.overrides import is_tensor_like

    package = tt.nn.Module.__module__.partition(".")[0]  # which says torch where `import torch` gives tt
    if isinstance(error, TTError) or not type(module).__module__.startswith(f"{package}.nn."):
        return None
    origin, stated = _origin(error)
    if stated or not origin.startswith("tt."):
        return None
    signature = inspect.signature(module.forward)
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return None
    for position, (name, parameter) in enumerate(signature.parameters.items(), start=1):
        kinds = {kind.strip() for kind in str(parameter.annotation).split("|")}
        if name not in bound or kinds not in _TENSORS:
            continue
        value = bound[name]
        if not (is_tensor_like(value) or (value is None and "None" in kinds)):
            return ArgumentError(
                type(module).__name__,
                f"argument {name!r} (position {position}) must be Tensor, not {type(value).__name__}",
            )
    if isinstance(error, IndexError):  # a size that was read of a tensor without that dimension
        shapes = [
            f"{name} has the shape {list(x.shape)}" for name, x in bound.items() if isinstance(x, tt.Tensor)
        ]
        return IndexValueError(f"{type(module).__name__}(): a dimension is missing: {', '.join(shapes)}")
    return None


def note_layer(module: ModuleBase, error: Exception) -> None:
    """Say in an error of tt in which layer it was raised.

    Parameters
    ----------
    module : Module
        The module that the error leaves.
    error : Exception
        Errors that tt's code does not raise are left alone: they come from the program, and their traceback says where.

    Examples
    --------
    >>> import tt
    >>> model = tt.nn.Sequential(tt.nn.Flatten(), tt.nn.Linear(3, 4))
    >>> try:
    ...     model(tt.ones(2, 5))
    ... except RuntimeError as error:
    ...     print(error.__notes__[-1])
    in layer 1 of Sequential: Linear(in_features=3, out_features=4, bias=True)
    """
    from tt.errors import TTError

    if not isinstance(error, TTError) and not _origin(error)[0].startswith("tt."):
        return
    inner, outer, path, note = getattr(error, _MARK, (module, None, "", ""))
    if outer is module:
        return  # called through super() or by itself
    if outer is not None:
        within = next((name for name, child in module.named_modules() if child is outer), None)
        if not within:
            return  # of a module that is not registered: what was found so far says more
        path = f"{within}.{path}" if path else within
    where = f"in layer {path} of {type(module).__name__}: " if path else "in "
    notes = [text for text in getattr(error, "__notes__", ()) if text != note]
    note = f"{where}{type(inner).__name__}({inner.extra_repr()})"
    setattr(error, _MARK, (inner, module, path, note))
    error.__notes__ = [*notes, note]
