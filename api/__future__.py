"""Settings of behaviour that PyTorch is to have in future: how modules change their parameters."""

from __future__ import annotations

__all__ = [
    "get_overwrite_module_params_on_conversion",
    "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]

_overwrite = False
_swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Set whether `Module.to` and similar methods make new parameters instead of changing the data of the old ones."""
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Return whether `Module.to` and similar methods make new parameters."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Set whether `Module.to` and `load_state_dict` exchange parameters by `tt.utils.swap_tensors`."""
    global _swap
    _swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Return whether `Module.to` and `load_state_dict` exchange parameters by `tt.utils.swap_tensors`."""
    return _swap
