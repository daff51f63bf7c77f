"""tt.overrides: for the authors of tensor-like classes and of function modes, as `torch.overrides`."""

from __future__ import annotations

from tt.core.methods.overridable import (
    get_default_nowrap_functions,
    get_ignored_functions,
    get_overridable_functions,
    get_testing_overrides,
    is_tensor_method_or_property,
    resolve_name,
)
from tt.core.methods.tt_function_api import (
    BaseTTFunctionMode,
    DisableTTFunction,
    DisableTTFunctionSubclass,
    TTFunctionMode,
    _get_current_function_mode,
    _get_current_function_mode_stack,
    disabled_tt_dispatch_impl,
    disabled_tt_function_impl,
    handle_tt_function,
    has_tt_function,
    has_tt_function_unary,
    has_tt_function_variadic,
    is_tensor_like,
    wrap_tt_function,
)

__all__ = [
    "BaseTTFunctionMode",
    "DisableTTFunction",
    "DisableTTFunctionSubclass",
    "TTFunctionMode",
    "_get_current_function_mode",
    "_get_current_function_mode_stack",
    "disabled_tt_dispatch_impl",
    "disabled_tt_function_impl",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_tt_function",
    "has_tt_function",
    "has_tt_function_unary",
    "has_tt_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_tt_function",
]
