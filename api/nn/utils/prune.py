"""Pruning: masks that keep elements of parameters at zero."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any

import tt
from tt.nn.modules.module import Module
from tt.nn.utils._pruning import BasePruningMethod, PruningContainer, _prunes
from tt.nn.utils.convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class Identity(BasePruningMethod):
    """Prunes nothing, and makes the names of a pruned parameter."""

    def compute_mask(self, t: tt.Tensor, default_mask: tt.Tensor) -> tt.Tensor:
        """Return the mask as it is."""
        return default_mask


def _check_amount(amount: Any) -> None:
    """Refuse anything but a count or a fraction."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    # An int counts elements, a float is a share of them: 1 and 1.0 mean different amounts.
    least, most = (0, math.inf) if isinstance(amount, numbers.Integral) else (0.0, 1.0)
    if not least <= float(amount) <= most:
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def _count(amount: Any, size: int) -> int:
    """Return how many of `size` are pruned.

    Raises
    ------
    ValueError
        If there are not so many.
    """
    if not isinstance(amount, numbers.Integral):
        return round(float(amount) * size)
    if int(amount) > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return int(amount)


class _Unstructured(BasePruningMethod):
    def __init__(self, amount: float) -> None:
        _check_amount(amount)
        self.amount = amount

    def _chosen(self, t: tt.Tensor, count: int) -> tt.Tensor:
        """Return the places, in the flat tensor, of the elements to prune."""
        raise NotImplementedError

    def compute_mask(self, t: tt.Tensor, default_mask: tt.Tensor) -> tt.Tensor:
        """Return the mask without the chosen elements."""
        count = _count(self.amount, t.nelement())
        # Contiguous, so that the flat view writes into it.
        mask = default_mask.clone().contiguous()
        if count:
            mask.view(-1)[self._chosen(t, count)] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes elements drawn at random.

    Parameters
    ----------
    amount : int or float
        How many, or which fraction.
    """

    def _chosen(self, t: tt.Tensor, count: int) -> tt.Tensor:
        # The largest of random numbers are a sample without repetition.
        return tt.topk(tt.rand_like(t).view(-1), k=count).indices


class L1Unstructured(_Unstructured):
    """Prunes the elements with the smallest absolute values.

    Parameters
    ----------
    amount : int or float
        How many, or which fraction.
    """

    def _chosen(self, t: tt.Tensor, count: int) -> tt.Tensor:
        return tt.topk(t.abs().reshape(-1), k=count, largest=False).indices


class _Structured(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def _importance(self, t: tt.Tensor) -> tt.Tensor:
        """Return a number for each slice along the dimension."""
        raise NotImplementedError

    def compute_mask(self, t: tt.Tensor, default_mask: tt.Tensor) -> tt.Tensor:
        """Return the mask without the slices of least importance."""
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. "
                f"Found tensor of shape {t.shape} with {t.dim()} dims"
            )
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.size(self.dim)
        count = _count(self.amount, size)
        if not count:
            return default_mask
        kept = tt.topk(self._importance(t), k=size - count, largest=True).indices
        mask = tt.zeros_like(t)
        mask.index_fill_(self.dim, kept, 1)
        # Multiplied, so that what was pruned before stays pruned.
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Prunes slices along a dimension, drawn at random.

    Parameters
    ----------
    amount : int or float
        How many, or which fraction.
    dim : int
        The dimension.
    """

    def _importance(self, t: tt.Tensor) -> tt.Tensor:
        return tt.rand(t.size(self.dim), device=t.device)


class LnStructured(_Structured):
    """Prunes the slices along a dimension that have the smallest norms.

    Parameters
    ----------
    amount : int or float
        How many, or which fraction.
    n : int, float or str
        The order of the norm; "fro" and "nuc" as in `tt.norm`.
    dim : int
        The dimension.
    """

    def __init__(self, amount: float, n: float | str, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _importance(self, t: tt.Tensor) -> tt.Tensor:
        dim = self.dim % t.dim()
        return tt.norm(t, p=self.n, dim=[d for d in range(t.dim()) if d != dim])


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask.

    Parameters
    ----------
    mask : Tensor
        Zeros where it prunes.
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: tt.Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: tt.Tensor, default_mask: tt.Tensor) -> tt.Tensor:
        """Return what both masks leave."""
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Give a parameter the names of a pruned one, and prune nothing."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune elements of a parameter that are drawn at random; see `RandomUnstructured`."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: float, importance_scores: tt.Tensor | None = None
) -> Module:
    """Prune the elements of a parameter with the smallest absolute values.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The parameter.
    amount : int or float
        How many, or which fraction.
    importance_scores : Tensor, optional
        What decides in place of the parameter's values.

    Returns
    -------
    Module
        `module`.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.utils import prune
    >>> layer = prune.l1_unstructured(tt.nn.Linear(2, 3), "weight", amount=2)
    >>> sorted(layer.state_dict())
    ['bias', 'weight_mask', 'weight_orig']
    >>> int((layer.weight == 0).sum())
    2
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune slices of a parameter that are drawn at random; see `RandomStructured`."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: float,
    n: float | str,
    dim: int,
    importance_scores: tt.Tensor | None = None,
) -> Module:
    """Prune the slices of a parameter that have the smallest norms; see `LnStructured`."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], tt.Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one tensor.

    Parameters
    ----------
    parameters : iterable of (Module, str)
        Modules and names.
    pruning_method : type
        An unstructured method.
    importance_scores : dict, optional
        What decides in place of the values, by (module, name).
    **kwargs
        Arguments of the method's class, for instance `amount`.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs = [(module, name) for module, name in parameters]
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    relevant = parameters_to_vector([scores.get(pair, getattr(*pair)) for pair in pairs])
    # Pruning may be repeated: elements that a mask already hides must not be counted again.
    masks = [getattr(m, f"{n}_mask", tt.ones_like(getattr(m, n))) for m, n in pairs]
    container = PruningContainer()
    # A container compares names, and there is no parameter here: any name will do.
    container._tensor_name = "temp"
    method: Any = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    with tt.no_grad():
        final = container.compute_mask(relevant.detach(), parameters_to_vector(masks))
    start = 0
    for module, name in pairs:
        param = getattr(module, name)
        count = param.numel()
        custom_from_mask(module, name, mask=final[start : start + count].view_as(param))
        start += count


def custom_from_mask(module: Module, name: str, mask: tt.Tensor) -> Module:
    """Prune a parameter by a mask; see `CustomFromMask`."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Make a pruned tensor a parameter again; the zeros stay.

    Raises
    ------
    ValueError
        If it is not pruned.
    """
    for number, hook in module._forward_pre_hooks.items():
        if _prunes(hook, name):
            method: Any = hook
            method.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Return whether a parameter of a module, or of one below it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for hook in part._forward_pre_hooks.values()
    )
