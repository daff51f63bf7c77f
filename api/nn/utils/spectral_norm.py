"""Spectral normalisation in its older form, with hooks; `parametrizations.spectral_norm` is preferable."""

from __future__ import annotations

from typing import Any, TypeVar

import tt
import tt.nn.functional as F
from tt.nn.modules.module import Module
from tt.nn.parameter import Parameter
from tt.nn.utils._norms import outputs_dim, power_iteration

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]

M = TypeVar("M", bound=Module)


class SpectralNorm:
    """The hook that computes a weight before each forward.

    Parameters
    ----------
    name : str
        The parameter.
    n_power_iterations : int
        Steps of the power iteration at each forward in training.
    dim : int
        The dimension of outputs.
    eps : float
        What keeps norms above zero.
    """

    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight: tt.Tensor) -> tt.Tensor:
        """Return the weight as a matrix whose rows are the outputs."""
        return weight.movedim(self.dim, 0).reshape(weight.size(self.dim), -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> tt.Tensor:
        """Return the weight divided by its largest singular value."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = self.reshape_weight_to_matrix(weight)
        result: tt.Tensor
        if do_power_iteration:
            power_iteration(matrix.mH, v, u, self.n_power_iterations, self.eps)  # v comes first in this form
            # Copies: a second forward before backward changes the buffers.
            u, v = u.clone(), v.clone()
        result = weight / tt.dot(u, tt.mv(matrix, v))
        return result

    def remove(self, module: Module) -> None:
        """Make the present weight a parameter again."""
        with tt.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for name in (self.name, f"{self.name}_u", f"{self.name}_v", f"{self.name}_orig"):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: object) -> None:
        """Compute the weight for this forward."""
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Replace a parameter by its original and the estimates of its singular vectors.

        Raises
        ------
        RuntimeError
            If that is done already.
        """
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        new = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if tt.nn.parameter.is_lazy(weight):
            raise ValueError(
                f"the parameter {name!r} of a lazy module has no shape yet, which spectral_norm needs\n"
                "  try: call the module once before"
            )
        with tt.no_grad():
            h, w = new.reshape_weight_to_matrix(weight).size()
            u, v = (F.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps) for size in (h, w))
        # The weight is computed in each forward, so what is trained gets another name.
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        # A plain attribute: a copy that parallel training makes is assigned to it.
        setattr(module, name, weight.detach())
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(new)
        module._register_state_dict_hook(new._note_version)
        module._register_load_state_dict_pre_hook(new._complete)
        return new

    def _note_version(
        self, module: Module, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any]
    ) -> None:
        local_metadata.setdefault("spectral_norm", {})[f"{self.name}.version"] = self._version

    def _complete(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        *_: Any,
    ) -> None:
        """Make a state dict that has no versions one of today: it has the normalised weight in the place of v.

        With u = W v / |W v| of the original weight W, v is the vector of least length for which W v is a multiple of
        u, at the length where u . W v is the number by which the weight was divided.
        """
        versions = local_metadata.get("spectral_norm", {})
        key = prefix + self.name
        # Checkpoints before version 1 have no v: it is solved for below, from u and the weight.
        if versions.get(f"{self.name}.version", 0) >= 1:
            return
        if key not in state_dict:
            if strict and f"{key}_v" not in state_dict:
                missing_keys.append(key)
            return
        if f"{key}_orig" not in state_dict or f"{key}_u" not in state_dict:
            return  # loading says that they are missing
        with tt.no_grad():
            original, u = state_dict[f"{key}_orig"], state_dict[f"{key}_u"]
            norm = tt.linalg.vector_norm(original) / tt.linalg.vector_norm(state_dict.pop(key))
            matrix = self.reshape_weight_to_matrix(original)
            v = tt.mv(tt.linalg.pinv(matrix), u)
            state_dict[f"{key}_v"] = v * (norm / tt.dot(u, tt.mv(matrix, v)))


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide a weight by its largest singular value, which power iteration estimates in training.

    Miyato et al., "Spectral normalization for generative adversarial networks", 2018.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The parameter.
    n_power_iterations : int
        Steps of the power iteration at each forward in training.
    eps : float
        What keeps norms above zero.
    dim : int, optional
        The dimension of outputs; 1 for transposed convolutions, otherwise 0.
    """
    SpectralNorm.apply(module, name, n_power_iterations, outputs_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Undo `spectral_norm`; the weight keeps its value.

    Raises
    ------
    ValueError
        If the parameter is not normalised.
    """
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for hooks in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for number, hook in hooks.items():
            owner = getattr(getattr(hook, "hook", hook), "__self__", None)
            if isinstance(owner, SpectralNorm) and owner.name == name:
                del hooks[number]
                break
    return module
