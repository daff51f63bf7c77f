"""Transforms: the base class, and transforms of transforms."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Sequence
from functools import reduce
from typing import Any

import tt
from tt.distributions import constraints

__all__ = [
    "ComposeTransform",
    "IndependentTransform",
    "Transform",
    "identity_transform",
]


def sum_rightmost(value: tt.Tensor, dims: int) -> tt.Tensor:
    """Return the sum over the last dimensions."""
    return value.sum(tuple(range(-dims, 0))) if dims else value


class Transform:
    """A function with an inverse and the logarithm of its derivative's determinant.

    Parameters
    ----------
    cache_size : int
        1 keeps the last argument and result, so that the inverse of a result is the argument itself; 0 does not.

    Raises
    ------
    ValueError
        If the size is another one.

    Examples
    --------
    A subclass defines `domain`, `codomain`, `_call`, `_inverse` and `log_abs_det_jacobian`:

    >>> import tt
    >>> from tt.distributions import constraints
    >>> class Double(tt.distributions.Transform):
    ...     domain = codomain = constraints.real
    ...     bijective = True
    ...     sign = 1
    ...
    ...     def _call(self, x):
    ...         return 2 * x
    ...
    ...     def _inverse(self, y):
    ...         return y / 2
    ...
    ...     def log_abs_det_jacobian(self, x, y):
    ...         return tt.full_like(x, 2.0).log()
    >>> double = Double()
    >>> double(tt.ones(2)), double.inv(tt.ones(2))
    (tensor([2., 2.]), tensor([0.5000, 0.5000]))
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise tt.errors.ValueRangeError(f"cache_size must be 0 or 1, not {cache_size!r}")
        self._cache_size = cache_size
        self._cached_x_y: tuple[tt.Tensor, tt.Tensor] | None = None
        self._inv: Any = None
        super().__init__()  # of another base, such as `nn.Module` for a transform with parameters

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}  # a weak reference

    @property
    def event_dim(self) -> Any:
        """The dimensions of one argument, where they are as many as those of one result."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise tt.errors.ValueRangeError(
            f"{type(self).__name__} changes the number of dimensions; "
            "use .domain.event_dim or .codomain.event_dim"
        )

    @property
    def inv(self) -> Transform:
        """The inverse, whose inverse is this transform."""
        inverse = self._inv() if self._inv is not None else None
        if inverse is None:
            inverse = _InverseTransform(self)
            # Weak, because the inverse holds this transform: neither should wait for the collector of
            # garbage.
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> Any:
        """1 if the function increases, -1 if it decreases, a tensor if that differs."""
        raise tt.errors.UnsupportedError(f"{type(self).__name__} does not define a sign")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return this transform with another size of the cache.

        Examples
        --------
        >>> import tt
        >>> transform = tt.distributions.ExpTransform().with_cache()
        >>> x = tt.ones(2)
        >>> transform.inv(transform(x)) is x
        True
        """
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise tt.errors.UnsupportedError(f"{type(self).__name__} does not implement with_cache")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def __call__(self, x: tt.Tensor) -> tt.Tensor:
        """Return the image of x."""
        if not self._cache_size:
            return self._call(x)
        cached = self._cached_x_y
        # By identity: the inverse of a sample that was just made is exact, and costs nothing.
        if cached is not None and x is cached[0]:
            return cached[1]
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: tt.Tensor) -> tt.Tensor:
        if not self._cache_size:
            return self._inverse(y)
        cached = self._cached_x_y
        if cached is not None and y is cached[1]:
            return cached[0]
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        raise tt.errors.UnsupportedError(f"{type(self).__name__} does not implement _call")

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        raise tt.errors.UnsupportedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        """Return the logarithm of the absolute determinant of the derivative at x, whose image is y.

        Examples
        --------
        >>> import tt
        >>> x = tt.ones(2)
        >>> transform = tt.distributions.ExpTransform()
        >>> transform.log_abs_det_jacobian(x, transform(x))
        tensor([1., 1.])
        """
        raise tt.errors.UnsupportedError(f"{type(self).__name__} does not implement log_abs_det_jacobian")

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """Return the shape of the image of a tensor.

        Examples
        --------
        >>> import tt
        >>> tt.distributions.StickBreakingTransform().forward_shape((2, 3))
        (2, 4)
        """
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """Return the shape of a tensor whose image has the given shape.

        Examples
        --------
        >>> import tt
        >>> tt.distributions.StickBreakingTransform().inverse_shape((2, 4))
        (2, 3)
        """
        return shape


class _InverseTransform(Transform):
    """The inverse of a transform, whose cache it shares."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._of = transform

    @property
    def domain(self) -> Any:
        return self._of.codomain

    @property
    def codomain(self) -> Any:
        return self._of.domain

    @property
    def bijective(self) -> Any:
        return self._of.bijective

    @property
    def sign(self) -> Any:
        return self._of.sign

    @property
    def inv(self) -> Transform:
        return self._of

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._of.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._of == other._of

    def __call__(self, x: tt.Tensor) -> tt.Tensor:
        return self._of._inv_call(x)

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        return -self._of.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self._of.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self._of.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._of!r})"


class ComposeTransform(Transform):
    """Several transforms, one after the other.

    Parameters
    ----------
    parts : sequence of Transform
        The first one is applied first.
    cache_size : int
        See `Transform`; every part gets it.

    Examples
    --------
    >>> import tt
    >>> from tt.distributions import AffineTransform, ComposeTransform, ExpTransform
    >>> ComposeTransform([AffineTransform(1.0, 0.0), ExpTransform()])(tt.zeros(1))
    tensor([2.7183])
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)
        super().__init__(cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @property
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            # A part may need more dimensions than its neighbours leave it; the widest need decides for
            # all.
            event_dim = max(
                event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim
            )
        return _widened(self.parts[0].domain, event_dim)

    @property
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim = max(
                event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim
            )
        return _widened(self.parts[-1].codomain, event_dim)

    @property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        sign: Any = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Transform:
        inverse = self._inv() if self._inv is not None else None
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv, inverse._inv = weakref.ref(inverse), weakref.ref(self)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: tt.Tensor) -> tt.Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        if not self.parts:
            return tt.zeros_like(x)
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        points.append(y)
        event_dim = self.domain.event_dim
        terms = []
        for part, before, after in zip(self.parts, points[:-1], points[1:], strict=True):
            term = part.log_abs_det_jacobian(before, after)
            # What a part counts as batch, the whole may count as one value: determinants are multiplied
            # there.
            terms.append(sum_rightmost(term, event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return reduce(operator.add, terms)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(map(repr, self.parts))
        return f"{type(self).__name__}(\n    {parts}\n)"


def _widened(constraint: constraints.Constraint, event_dim: int) -> Any:
    """Return a constraint on values with more dimensions."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


identity_transform: Transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch dimensions belong to one value; determinants are multiplied over them.

    Parameters
    ----------
    base_transform : Transform
        The transform of the parts.
    reinterpreted_batch_ndims : int
        How many dimensions more belong to one value.
    cache_size : int
        See `Transform`.

    Examples
    --------
    >>> import tt
    >>> transform = tt.distributions.IndependentTransform(tt.distributions.ExpTransform(), 1)
    >>> x = tt.ones(2, 3)
    >>> transform.log_abs_det_jacobian(x, transform(x))
    tensor([3., 3.])
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(
            self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size
        )

    @property
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> Any:
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        _expect_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        _expect_dims(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        log_det = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_rightmost(log_det, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self.base_transform.inverse_shape(shape)


def _expect_dims(shape: Sequence[int], dims: int) -> None:
    if len(shape) < dims:
        raise tt.errors.ValueRangeError(
            f"Too few dimensions on input: at least {dims} are needed, and the shape is {tuple(shape)}"
        )
