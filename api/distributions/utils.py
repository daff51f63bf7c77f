"""Helpers of distributions: broadcasting of parameters, probabilities and logits, cached properties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, Final, Generic, Self, TypeVar, overload

import tt
from tt.types import Device

__all__ = [
    "broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs", "probs_to_logits",
    "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip

R = TypeVar("R")

euler_constant: Final = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[tt.Tensor, ...]:
    """Return tensors of one shape for tensors and numbers; numbers take dtype and device of the first tensor.

    Parameters
    ----------
    *values : Tensor or float
        The parameters of a distribution.

    Returns
    -------
    tuple of Tensor
        Views of one shape.

    Raises
    ------
    ValueError
        If a value is neither a tensor nor a number.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.utils.broadcast_all(tt.zeros(2), 1.0)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    like: dict[str, Any] = {}
    for value in values:
        if tt.is_tensor(value):
            like = like or {"dtype": value.dtype, "device": value.device}
        elif not isinstance(value, Number) and not tt.overrides.is_tensor_like(value):
            raise tt.errors.ValueRangeError(
                f"the parameters of a distribution are tensors or numbers, not {type(value).__name__}"
            )
    like = like or {"dtype": tt.get_default_dtype()}
    tensors = [tt.tensor(v, **like) if isinstance(v, Number) else v for v in values]
    # The path of most distributions: their parameters agree already.
    if all(type(t) is tt.Tensor and t.shape == tensors[0].shape for t in tensors):
        return tuple(tensors)
    return tuple(tt.broadcast_tensors(*tensors))


def logits_to_probs(logits: tt.Tensor, is_binary: bool = False) -> tt.Tensor:
    """Return probabilities for log odds (`is_binary`), or for logarithms of weights along the last dimension.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.utils.logits_to_probs(tt.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    return tt.sigmoid(logits) if is_binary else tt.softmax(logits, -1)


def clamp_probs(probs: tt.Tensor) -> tt.Tensor:
    """Move probabilities by one rounding error away from 0 and 1, where logarithms are infinite.

    Examples
    --------
    >>> import tt
    >>> bool(tt.distributions.utils.clamp_probs(tt.zeros(1)) > 0)
    True
    """
    eps = tt.finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def probs_to_logits(probs: tt.Tensor, is_binary: bool = False) -> tt.Tensor:
    """Return log odds (`is_binary`) or logarithms of probabilities.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.utils.probs_to_logits(tt.tensor(0.5), is_binary=True)
    tensor(0.)
    """
    clamped = clamp_probs(probs)
    return tt.log(clamped) - tt.log1p(-clamped) if is_binary else tt.log(clamped)


class lazy_property(Generic[R]):  # noqa: N801  PyTorch's name
    """A property that is computed once, with gradients, and then is an ordinary attribute.

    Examples
    --------
    >>> from tt.distributions.utils import lazy_property
    >>> class Circle:
    ...     @lazy_property
    ...     def area(self):
    ...         print("computed")
    ...         return 3
    >>> circle = Circle()
    >>> circle.area, circle.area
    computed
    (3, 3)
    """

    def __init__(self, wrapped: Callable[[Any], R]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> R: ...

    def __get__(self, instance: object, owner: type | None = None) -> Self | R:
        if instance is None:
            return self
        # The value is kept, so it must have a history even if it is first computed under `no_grad`.
        with tt.enable_grad():
            value = self.wrapped(instance)
        # This class has no `__set__`, so the attribute of the instance hides it from now on.
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: tt.Tensor, diag: int = 0) -> tt.Tensor:
    """Return the elements below a diagonal of matrices, row by row.

    Raises
    ------
    ValueError
        If the diagonal does not exist.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.utils.tril_matrix_to_vec(tt.tensor([[1.0, 0.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise tt.errors.ValueRangeError(f"diag is {diag}; a matrix of {n} rows has diagonals {-n} to {n - 1}")
    rows, columns = tt.tril_indices(n, n, diag, device=mat.device).unbind(0)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: tt.Tensor, diag: int = 0) -> tt.Tensor:
    """Return lower triangular matrices with the given elements, row by row, up to a diagonal.

    Raises
    ------
    ValueError
        If no matrix has that many elements there.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.utils.vec_to_tril_matrix(tt.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    # n rows have n (n + 1) / 2 elements up to diagonal 0, and n more with each further one.
    length = vec.shape[-1]
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if abs(n - round(n)) > tt.finfo(vec.dtype).eps:
        raise tt.errors.ValueRangeError(
            f"{length} is not the number of elements below a diagonal of a matrix"
        )
    size = round(n)
    rows, columns = tt.tril_indices(size, size, diag, device=vec.device).unbind(0)
    positions = rows * size + columns
    flat = vec.new_zeros((*vec.shape[:-1], size * size))
    return flat.index_copy(-1, positions, vec).reshape((*vec.shape[:-1], size, size))


def _standard_normal(shape: Sequence[int], dtype: tt.dtype | None, device: Device) -> tt.Tensor:
    return tt.randn(tuple(shape), dtype=dtype, device=device)


def _sum_rightmost(value: tt.Tensor, dim: int) -> tt.Tensor:
    """Return the sum over the last `dim` dimensions; distributions outside of tt import it."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)
