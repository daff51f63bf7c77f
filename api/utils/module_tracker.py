"""tt.utils.module_tracker: which modules are being called, for tools that attribute operators to them."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Self

import tt
from tt.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from tt.nn import Module

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """A context in which `parents` holds the names of the modules that are being called.

    Attributes
    ----------
    parents : set of str
        Names such as "Global", "Net" and "Net.layer1"; "Global" stands for the program.
    is_bw : bool
        Whether a backward pass is running.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.module_tracker import ModuleTracker
    >>> class Net(tt.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.first = tt.nn.Flatten()
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents))
    ...         return self.first(x)
    >>> with ModuleTracker() as tracker:
    ...     _ = Net()(tt.ones(1, 1))
    ['Global', 'Net']
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self.is_bw = False
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []

    def __enter__(self) -> Self:
        modules: Any = tt.nn.modules.module
        self._handles = [
            modules.register_module_forward_pre_hook(self._enter),
            modules.register_module_forward_hook(self._leave, always_call=True),
        ]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self.parents = {"Global"}

    def _name(self, module: Module) -> str:
        if module not in self._names:
            own = type(module).__name__
            # The first call is of the outermost module, whose parts get their names from it.
            for name, part in module.named_modules():
                self._names.setdefault(part, f"{own}.{name}" if name else own)
        return self._names[module]

    def _enter(self, module: Module, args: tuple[Any, ...]) -> None:
        if self.is_bw:  # the pass that ran is over
            self.is_bw, self.parents = False, {"Global"}
        name = self._name(module)
        self.parents.add(name)
        inputs = _differentiated(args)
        if inputs and tt.is_grad_enabled():
            self._handles.append(
                # When the gradients of all inputs are there, the module's part of backward is over.
                tt.autograd.graph.register_multi_grad_hook(inputs, lambda grads: self.parents.discard(name))
            )

    def _leave(self, module: Module, args: tuple[Any, ...], output: object) -> None:
        name = self._name(module)
        self.parents.discard(name)
        outputs = _differentiated(output)
        if outputs and tt.is_grad_enabled():

            def enter(grad: object) -> None:
                if not self.is_bw:
                    self.is_bw, self.parents = True, {"Global"}
                self.parents.add(name)

            # It begins with the first gradient of any output.
            self._handles.append(tt.autograd.graph.register_multi_grad_hook(outputs, enter, mode="any"))


def _differentiated(value: object) -> list[Any]:
    """Return the tensors in arguments or results that require a gradient."""
    return [x for x in tree_leaves(value) if tt.is_tensor(x) and x.requires_grad]
