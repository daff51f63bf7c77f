"""Modules whose parameters get their shapes from the first input."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from tt.nn.modules.module import Module
from tt.nn.parameter import is_lazy

if TYPE_CHECKING:
    Base = Module
else:
    Base = object

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin(Base):
    """A module with uninitialized parameters, which its first call initializes.

    A subclass inherits from this class first and from a module second, makes `UninitializedParameter` or
    `UninitializedBuffer`, overrides `initialize_parameters(*inputs)`, and says in `cls_to_become` of which class the
    module is afterwards.
    """

    cls_to_become: type[Module] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _lazy_load_hook(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Give uninitialized parameters and buffers the shapes of the state dict."""
        for name, param in itertools.chain(self._parameters.items(), self._buffers.items()):
            loaded = state_dict.get(prefix + name)
            lazy: Any = param
            if loaded is not None and param is not None and is_lazy(param) and not is_lazy(loaded):
                lazy.materialize(loaded.shape)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, param in itertools.chain(self._parameters.items(), self._buffers.items()):
            if prefix + name in destination and is_lazy(param):
                destination[prefix + name] = (
                    param  # its history is empty, and a plain tensor would have a shape
                )

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes; called with the first call's inputs."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or buffer of this module itself has no shape yet."""
        return any(is_lazy(t) for t in itertools.chain(self._parameters.values(), self._buffers.values()))

    def _infer_parameters(
        self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> None:
        """Initialize the parameters before the first forward, and become an ordinary module."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        # From here on it is like any other module: it has no hook, and pickles as its class.
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook
        del module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`: call the module once before"
        )
