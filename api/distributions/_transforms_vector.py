"""Transforms of vectors and matrices, and of parts of a dimension."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

import tt
from tt.distributions import constraints
from tt.distributions._transforms_base import Transform, _expect_dims, sum_rightmost
from tt.distributions._transforms_elementwise import _Plain, clipped_sigmoid
from tt.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from tt.nn.functional import logsigmoid, pad, softplus

__all__ = [
    "CatTransform",
    "CorrCholeskyTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "ReshapeTransform",
    "SoftmaxTransform",
    "StackTransform",
    "StickBreakingTransform",
]

# --- vectors ---------------------------------------------------------------------------------------------------


class SoftmaxTransform(_Plain):
    """Vectors to probabilities by softmax; not a bijection, for a vector has one number more than is needed.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.SoftmaxTransform()(tt.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        return tt.softmax(x, -1)

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _expect_dims(shape, 1)
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self.forward_shape(shape)


class StickBreakingTransform(_Plain):
    """Vectors to probabilities, one more than numbers: each takes a part of what those before it have left.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.StickBreakingTransform()(tt.zeros(3))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        # The shift gives each piece the same share for x = 0.
        z = clipped_sigmoid(x - _log_left(x))
        rest = (1 - z).cumprod(-1)
        return pad(z, [0, 1], value=1) * pad(rest, [1, 0], value=1)

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        y_crop = y[..., :-1]
        # Rounding may leave nothing, or less.
        rest = (1 - y_crop.cumsum(-1)).clamp(min=tt.finfo(y.dtype).tiny)
        return y_crop.log() - rest.log() + _log_left(y_crop)

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        x = x - _log_left(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _expect_dims(shape, 1)
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _expect_dims(shape, 1)
        return (*shape[:-1], shape[-1] - 1)


def _log_left(x: tt.Tensor) -> tt.Tensor:
    """Return the logarithms of how many pieces follow each one; with them, zeros become equal probabilities."""
    return tt.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device).log()


# --- matrices --------------------------------------------------------------------------------------------------


class CorrCholeskyTransform(Transform):
    r"""Vectors of :math:`n (n - 1) / 2` numbers to Cholesky factors of correlation matrices.

    Each number becomes a partial correlation by tanh, and each row is filled from the left with parts of the length
    that is left: Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended
    onion method", 2009.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.CorrCholeskyTransform()(tt.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        # At 1 the rest of the row would be 0, and the diagonal too.
        eps = tt.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(-1 + eps, 1 - eps), diag=-1)
        # What the elements before have left of the row's length, which is 1.
        left = (1 - partial * partial).sqrt().cumprod(-1)
        partial = partial + tt.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return partial * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        left = pad(1 - (y * y).cumsum(-1)[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        of_lengths = 0.5 * left.log().sum(-1)
        of_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return of_lengths + of_tanh

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _expect_dims(shape, 1)
        count = shape[-1]
        # The root of n (n - 1) / 2 = count.
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise tt.errors.ValueRangeError(f"no correlation matrix has {count} elements below its diagonal")
        return (*shape[:-1], size, size)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _expect_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise tt.errors.ValueRangeError(f"a matrix of shape {tuple(shape[-2:])} is not square")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


class _OfMatrices(_Plain):
    """A transform of square matrices."""

    domain = constraints.independent(constraints.real, 2)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _expect_dims(shape, 2)
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self.forward_shape(shape)


class LowerCholeskyTransform(_OfMatrices):
    """Matrices to lower triangular ones with a positive diagonal: the exponential of theirs.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.LowerCholeskyTransform()(tt.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    codomain = constraints.lower_cholesky

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        return x.tril(-1) + x.diagonal(0, -2, -1).exp().diag_embed()

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        return y.tril(-1) + y.diagonal(0, -2, -1).log().diag_embed()


class PositiveDefiniteTransform(_OfMatrices):
    """Matrices to positive definite ones: the lower triangular one of `LowerCholeskyTransform` times its transpose.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.PositiveDefiniteTransform()(tt.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    codomain = constraints.positive_definite

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        return LowerCholeskyTransform().inv(tt.linalg.cholesky(y))


# --- parts of a dimension --------------------------------------------------------------------------------------


class _OfParts(Transform):
    """A transform for each part of a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        for transform in tseq:
            if not isinstance(transform, Transform):
                raise tt.errors.AssertedError(f"{type(transform).__name__} is not a transform")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> bool:
        return all(t.bijective for t in self.transforms)

    def _parts(self, value: tt.Tensor) -> list[tt.Tensor]:
        raise NotImplementedError

    def _joined(self, parts: list[tt.Tensor]) -> tt.Tensor:
        raise NotImplementedError

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        return self._joined([t(part) for t, part in zip(self.transforms, self._parts(x), strict=True)])

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        return self._joined([t.inv(part) for t, part in zip(self.transforms, self._parts(y), strict=True)])

    def _determinants(self, x: tt.Tensor, y: tt.Tensor) -> list[tt.Tensor]:
        triples = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return [t.log_abs_det_jacobian(before, after) for t, before, after in triples]

    def _expect(self, value: tt.Tensor, length: int) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise tt.errors.AssertedError(f"a tensor of {value.dim()} dimensions has no dimension {self.dim}")
        if value.shape[self.dim] != length:
            raise tt.errors.AssertedError(
                f"dimension {self.dim} has the size {value.shape[self.dim]}, and the transforms are for {length}"
            )


class CatTransform(_OfParts):
    """Transforms for consecutive parts of a dimension.

    Parameters
    ----------
    tseq : sequence of Transform
        One for each part.
    dim : int
        The dimension.
    lengths : sequence of int, optional
        The length of each part; 1 by default.
    cache_size : int
        See `Transform`.

    Examples
    --------
    >>> import tt
    >>> from tt.distributions import CatTransform, ExpTransform, identity_transform
    >>> CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])(tt.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise tt.errors.AssertedError(
                f"{len(self.lengths)} lengths are given for {len(self.transforms)} transforms"
            )

    @property
    def event_dim(self) -> int:
        """The dimensions of one value."""
        return max(int(t.event_dim) for t in self.transforms)

    @property
    def length(self) -> int:
        """The length of all parts."""
        return sum(self.lengths)

    @property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, value: tt.Tensor) -> list[tt.Tensor]:
        self._expect(value, self.length)
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        pairs = zip(starts, self.lengths, strict=True)
        return [value.narrow(self.dim, start, length) for start, length in pairs]

    def _joined(self, parts: list[tt.Tensor]) -> tt.Tensor:
        return tt.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        parts = [
            sum_rightmost(term, self.event_dim - t.event_dim)
            for t, term in zip(self.transforms, self._determinants(x, y), strict=True)
        ]
        # Where the dimension of the parts is within one value, their determinants are multiplied.
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        if dim < 0:
            return tt.cat(parts, dim)
        return reduce(operator.add, parts)


class StackTransform(_OfParts):
    """A transform for each index of a dimension.

    Parameters
    ----------
    tseq : sequence of Transform
        One for each index.
    dim : int
        The dimension.
    cache_size : int
        See `Transform`.

    Examples
    --------
    >>> import tt
    >>> from tt.distributions import ExpTransform, StackTransform, identity_transform
    >>> StackTransform([identity_transform, ExpTransform()])(tt.zeros(2))
    tensor([0., 1.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    @property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return (
            self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)
        )

    def _parts(self, value: tt.Tensor) -> list[tt.Tensor]:
        self._expect(value, len(self.transforms))
        return list(value.unbind(self.dim))

    def _joined(self, parts: list[tt.Tensor]) -> tt.Tensor:
        return tt.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        return tt.stack(self._determinants(x, y), self.dim)


# --- shapes ----------------------------------------------------------------------------------------------------


class ReshapeTransform(Transform):
    """Gives the last dimensions another shape.

    Parameters
    ----------
    in_shape, out_shape : sequence of int
        The shapes of an argument and of its image.
    cache_size : int
        See `Transform`.

    Raises
    ------
    ValueError
        If the shapes have different numbers of elements.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.ReshapeTransform((4,), (2, 2))(tt.arange(4.0))
    tensor([[0., 1.],
            [2., 3.]])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = tt.Size(in_shape), tt.Size(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise tt.errors.ValueRangeError(
                f"in_shape {tuple(in_shape)} and out_shape {tuple(out_shape)} have different numbers of elements"
            )
        super().__init__(cache_size=cache_size)

    @property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        return x.reshape(tuple(self.forward_shape(x.shape)))

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        return y.reshape(tuple(self.inverse_shape(y.shape)))

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        return x.new_zeros(tuple(x.shape[: x.dim() - len(self.in_shape)]))

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return _reshaped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return _reshaped(shape, self.out_shape, self.in_shape)


def _reshaped(shape: Sequence[int], before: Sequence[int], after: Sequence[int]) -> Sequence[int]:
    _expect_dims(shape, len(before))
    cut = len(shape) - len(before)
    if tuple(shape[cut:]) != tuple(before):
        raise tt.errors.ValueRangeError(
            f"Shape mismatch: expected {tuple(before)} but got {tuple(shape[cut:])}"
        )
    return (*shape[:cut], *after)
