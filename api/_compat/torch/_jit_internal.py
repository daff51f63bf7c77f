"""torch._jit_internal: annotations for TorchScript, which leave functions as they are."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035 - the names that programs import

from tt.futures import Future
from tt.jit import (
    Final,
    _overload,
    _overload_method,
    export,
    ignore,
    is_scripting,
    unused,
)

__all__ = [
    "Any", "Dict", "Final", "Future", "List", "Optional", "Tuple", "Union", "export", "ignore", "is_scripting",
    "unused",
]  # fmt: skip

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = List  # noqa: UP006 - as PyTorch's


def _copy_to_script_wrapper(fn: Any) -> Any:
    """Return the function as it is."""
    return fn


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Any,
    if_false: Any,
    module_name: str,
    func_name: str,
) -> Any:
    """Return a function that calls one of two, as an argument says."""

    def function(*args: Any, **kwargs: Any) -> Any:
        chosen = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    function.__name__, function.__module__ = func_name, module_name
    return function
