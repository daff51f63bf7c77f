"""Weight normalisation in its older form, with hooks; `parametrizations.weight_norm` is preferable."""

from __future__ import annotations

from typing import TypeVar

import tt
from tt.library import warn_user
from tt.nn.modules.module import Module
from tt.nn.parameter import Parameter
from tt.nn.utils._norms import norm_except_dim, scaled

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


class WeightNorm:
    """The hook that computes a weight before each forward.

    Parameters
    ----------
    name : str
        The parameter.
    dim : int
        The dimension with a length for each of its places; -1: one length.
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> tt.Tensor:
        """Return the weight."""
        return scaled(getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g"), self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Replace a parameter by its length and direction.

        Raises
        ------
        RuntimeError
            If that is done already.
        """
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        new = WeightNorm(name, dim)
        weight = getattr(module, name)
        if tt.nn.parameter.is_lazy(weight):
            raise ValueError(
                f"the parameter {name!r} of a lazy module has no shape yet, which weight_norm needs\n"
                "  try: call the module once before"
            )
        # Removed from the table: what is trained are g and v.
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight, new.dim).detach()))
        module.register_parameter(f"{name}_v", Parameter(weight.detach()))
        # A plain attribute, so that the weight can be read before the first forward.
        setattr(module, name, new.compute_weight(module))
        module.register_forward_pre_hook(new)
        return new

    def remove(self, module: Module) -> None:
        """Make the present weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"]
        del module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: object) -> None:
        """Compute the weight again for this forward."""
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Compute a weight from its length, `weight_g`, and its direction, `weight_v`; deprecated.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The parameter.
    dim : int or None
        The dimension with a length for each of its places; None: one length.
    """
    warn_user(
        "`nn.utils.weight_norm` is deprecated in favor of `nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Undo `weight_norm`; the weight keeps its value.

    Raises
    ------
    ValueError
        If the parameter is not normalised.
    """
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
