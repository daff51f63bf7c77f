"""Methods of pruning, and several of them one after the other; public names of `tt.nn.utils.prune`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import tt
from tt.nn.modules.module import Module

__all__ = ["BasePruningMethod", "PruningContainer"]


class BasePruningMethod(ABC):
    """A method of pruning: `compute_mask` says which elements stay.

    It is a hook of the module that computes `name` as `name_orig * name_mask` before each forward.
    """

    PRUNING_TYPE: str = "unstructured"
    _tensor_name: str
    dim: int  # of the structured methods

    def __call__(self, module: Module, inputs: tuple[Any, ...]) -> None:
        """Compute the pruned tensor for this forward."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: tt.Tensor, default_mask: tt.Tensor) -> tt.Tensor:
        """Return a mask of a tensor: zeros where it is pruned.

        Parameters
        ----------
        t : Tensor
            The tensor, or the importance of its elements.
        default_mask : Tensor
            The mask of earlier prunings; elements that it prunes stay pruned.
        """

    def apply_mask(self, module: Module) -> tt.Tensor:
        """Return the pruned tensor."""
        if getattr(self, "_tensor_name", None) is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, orig = (
            getattr(module, f"{self._tensor_name}_mask"),
            getattr(module, f"{self._tensor_name}_orig"),
        )
        pruned: tt.Tensor = mask.to(dtype=orig.dtype) * orig
        return pruned

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: tt.Tensor | None = None, **kwargs: Any
    ) -> Any:
        """Prune a parameter, on top of what pruned it before.

        Parameters
        ----------
        module : Module
            The module.
        name : str
            The parameter.
        *args, **kwargs
            Arguments of the method's class.
        importance_scores : Tensor, optional
            What decides in place of the parameter's values, of its shape.
        """
        old = [(n, h) for n, h in module._forward_pre_hooks.items() if _prunes(h, name)]
        if len(old) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}"
            )
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if old:
            number, before = old[0]
            del module._forward_pre_hooks[number]
            container: Any = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method = container
        orig = getattr(module, f"{name}_orig" if old else name)
        if importance_scores is not None and importance_scores.shape != orig.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name}: "
                f"{importance_scores.shape} and {orig.shape}"
            )
        # What was pruned before counts as zero in the norm of a slice.
        scores = getattr(module, name) if importance_scores is None else importance_scores
        before_mask = getattr(module, f"{name}_mask", None)
        mask = tt.ones_like(orig) if before_mask is None else before_mask.clone()
        try:
            with tt.no_grad():
                mask = method.compute_mask(scores, default_mask=mask)
        # The module goes on with the hook that it had.
        except Exception:
            if old:
                container.remove_last()
                module._forward_pre_hooks[number] = before
            raise
        if not old:
            module.register_parameter(f"{name}_orig", orig)
            del module._parameters[name]
        module.register_buffer(f"{name}_mask", mask)
        # A plain attribute, so that reading it before the first forward gives the pruned values.
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: tt.Tensor, default_mask: tt.Tensor | None = None, importance_scores: tt.Tensor | None = None
    ) -> tt.Tensor:
        """Return a tensor pruned by this method.

        Parameters
        ----------
        t : Tensor
            The tensor.
        default_mask : Tensor, optional
            The mask of earlier prunings.
        importance_scores : Tensor, optional
            What decides in place of the tensor's values.
        """
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        scores = t if importance_scores is None else importance_scores
        mask = tt.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Any) -> None:
        """Make the pruned tensor a parameter again; the zeros stay."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        orig = module._parameters[f"{name}_orig"]
        orig.data = weight.data
        del module._parameters[f"{name}_orig"]
        del module._buffers[f"{name}_mask"]
        setattr(module, name, orig)


def _prunes(hook: object, name: str) -> bool:
    return isinstance(hook, BasePruningMethod) and hook._tensor_name == name


class PruningContainer(BasePruningMethod):
    """Several methods of pruning one after the other, each on the elements that the one before left.

    Parameters
    ----------
    *args : BasePruningMethod
        The methods, all of one tensor.
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        methods: Any = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        for index, method in enumerate(methods):
            if not index:
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Add a method.

        Raises
        ------
        TypeError
            If it is none.
        ValueError
            If it prunes another tensor.
        """
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def remove_last(self) -> None:
        """Take back what was added last."""
        self._pruning_methods = self._pruning_methods[:-1]

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: tt.Tensor, default_mask: tt.Tensor) -> tt.Tensor:
        """Return the mask of the last method, for the elements that the earlier ones left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        kind = method.PRUNING_TYPE
        left: Any
        if kind == "unstructured":
            left = mask == 1
        elif kind == "structured":
            dim = method.dim % t.dim()
            others = [d for d in range(t.dim()) if d != dim]
            kept = mask.sum(dim=others) != 0
            left = (slice(None),) * dim + (kept,)
        elif kind == "global":
            left = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        # The method sees only what is left, so that its amount counts of that.
        mask[left] = method.compute_mask(t[left], default_mask=mask[left])
        return mask
