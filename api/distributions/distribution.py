"""Distribution: the base class, with validation, shapes and what all distributions share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import tt
from tt.distributions import constraints
from tt.distributions.utils import lazy_property
from tt.library import warn_user

__all__ = ["Distribution"]


class Distribution:
    """The base of all distributions.

    Parameters
    ----------
    batch_shape : Size
        The shape of the parameters: how many distributions these are.
    event_shape : Size
        The shape of one sample of one of them.
    validate_args : bool, optional
        Whether parameters and samples are checked; by default what `set_default_validate_args` said.

    Raises
    ------
    ValueError
        If a parameter does not satisfy its constraint.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.Normal(tt.zeros(3), 1.0)
    >>> d.batch_shape, d.event_shape, d.sample((2,)).shape
    (tt.Size([3]), tt.Size([]), tt.Size([2, 3]))
    >>> tt.distributions.Normal(0.0, -1.0)
    Traceback (most recent call last):
        ...
    tt.core.errors.ValueRangeError: Expected parameter scale (Tensor of shape ()) of distribution
    Normal(loc: 0.0, scale: -1.0) to satisfy the constraint GreaterThan(lower_bound=0.0), but found invalid values:
    -1.0
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    # False under `python -O`, like assertions.
    _validate_args: bool = __debug__
    _batched: ClassVar[dict[str, int]] = {}
    """Attributes that `expand` expands, and how many of their last dimensions are not of the batch."""

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check parameters and samples by default; they do, unless Python runs with -O.

        Examples
        --------
        >>> import tt
        >>> tt.distributions.Distribution.set_default_validate_args(True)
        """
        if value not in (True, False):
            raise tt.errors.ValueRangeError(f"set_default_validate_args() takes True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = tt.Size(batch_shape)
        self._event_shape = tt.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()  # of another base, such as `nn.Module` for a distribution with parameters

    def _validate_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warn_user(
                f"{type(self).__name__} does not define `arg_constraints`, so its parameters are not checked; "
                "set `arg_constraints = {}`, or pass validate_args=False",
            )
            return
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue  # not given; it is computed from another one
            value = getattr(self, name)
            if not _satisfied(constraint, value):
                raise tt.errors.ValueRangeError(
                    f"Expected parameter {name} (Tensor of shape {tuple(value.shape)}) of distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, but found invalid values:\n{_shown(value)}"
                )

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        """Return this distribution with a larger batch; the parameters are views.

        Parameters
        ----------
        batch_shape : sequence of int
            The new batch, to which the present one broadcasts.

        Examples
        --------
        >>> import tt
        >>> tt.distributions.Exponential(1.0).expand((2,)).mean
        tensor([1., 1.])
        """
        if not self._batched:
            raise self._missing("expand")
        new = self._get_checked_instance(self._owner(), _instance)
        shape = tt.Size(batch_shape)
        self._expand_attributes(new, shape)
        # The parameters have been checked when they were given.
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        new._copy_from(self)
        return new

    def _owner(self) -> type:
        """Return the first class of the library that this is an instance of, whose `__init__` `expand` knows."""
        home = Distribution.__module__.rpartition(".")[
            0
        ]  # "tt.distributions", or its name as a module of torch
        return next(c for c in type(self).__mro__ if c.__module__.rpartition(".")[0] == home)

    def _expand_attributes(self, new: Self, shape: Sequence[int]) -> None:
        for name, kept in self._batched.items():
            value = self.__dict__.get(name)
            if value is not None:
                event = tuple(value.shape[value.dim() - kept :]) if kept else ()
                setattr(new, name, value.expand((*shape, *event)))

    def _copy_from(self, other: Self) -> None:
        """Take from another instance what does not depend on the batch."""

    @property
    def batch_shape(self) -> tt.Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> tt.Size:
        """The shape of one sample of one distribution."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """The constraint of each parameter."""
        raise self._missing("arg_constraints")

    @property
    def support(self) -> Any:
        """The constraint that samples satisfy."""
        raise self._missing("support")

    @property
    def mean(self) -> tt.Tensor:
        """The mean."""
        raise self._missing("mean")

    @property
    def mode(self) -> tt.Tensor:
        """The value of the largest density."""
        raise self._missing("mode")

    @property
    def variance(self) -> tt.Tensor:
        """The variance."""
        raise self._missing("variance")

    @property
    def stddev(self) -> tt.Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        """Return samples without gradient, of shape `sample_shape + batch_shape + event_shape`.

        Examples
        --------
        >>> import tt
        >>> tt.distributions.Normal(tt.zeros(3), 1.0).sample((2,)).shape
        tt.Size([2, 3])
        """
        with tt.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        """Return samples that are differentiable functions of the parameters.

        Examples
        --------
        >>> import tt
        >>> loc = tt.zeros(2, requires_grad=True)
        >>> tt.distributions.Normal(loc, 1.0).rsample().sum().backward()
        >>> loc.grad
        tensor([1., 1.])
        """
        raise self._missing("rsample")

    def sample_n(self, n: int) -> tt.Tensor:
        """Return n samples; `sample((n,))` says the same.

        Examples
        --------
        >>> import tt
        >>> tt.distributions.Poisson(1.0).sample((3,)).shape
        tt.Size([3])
        """
        warn_user("sample_n(n) is deprecated; use sample((n,))", FutureWarning)
        return self.sample((n,))

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        """Return the logarithm of the density, or of the probability, at a value.

        Examples
        --------
        >>> import tt
        >>> tt.distributions.Uniform(0.0, 2.0).log_prob(tt.tensor(1.0))
        tensor(-0.6931)
        """
        raise self._missing("log_prob")

    def cdf(self, value: tt.Tensor) -> tt.Tensor:
        """Return the probability that a sample is not above a value.

        Examples
        --------
        >>> import tt
        >>> tt.distributions.Uniform(0.0, 2.0).cdf(tt.tensor(0.5))
        tensor(0.2500)
        """
        raise self._missing("cdf")

    def icdf(self, value: tt.Tensor) -> tt.Tensor:
        """Return the value below which samples are with the given probability.

        Examples
        --------
        >>> import tt
        >>> tt.distributions.Uniform(0.0, 2.0).icdf(tt.tensor(0.25))
        tensor(0.5000)
        """
        raise self._missing("icdf")

    def enumerate_support(self, expand: bool = True) -> tt.Tensor:
        """Return all values of a discrete distribution, along a first dimension.

        Parameters
        ----------
        expand : bool
            Repeat the values for each distribution of the batch; otherwise these dimensions have size 1.

        Examples
        --------
        >>> import tt
        >>> tt.distributions.Bernoulli(0.5).enumerate_support()
        tensor([0., 1.])
        """
        raise self._missing("enumerate_support")

    def entropy(self) -> tt.Tensor:
        """Return the entropy.

        Examples
        --------
        >>> import tt
        >>> tt.distributions.Bernoulli(0.5).entropy()
        tensor(0.6931)
        """
        raise self._missing("entropy")

    def perplexity(self) -> tt.Tensor:
        """Return the exponential of the entropy.

        Examples
        --------
        >>> import tt
        >>> tt.distributions.Bernoulli(0.5).perplexity()
        tensor(2.)
        """
        return tt.exp(self.entropy())

    def _missing(self, name: str) -> Exception:
        return tt.errors.UnsupportedError(f"{type(self).__name__} does not implement {name}")

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> tt.Size:
        """Return the shape of samples."""
        if not isinstance(sample_shape, Sequence):
            raise tt.errors.ArgumentError(
                "sample", f"sample_shape is a tuple, as in sample((3,)), not {type(sample_shape).__name__}"
            )
        return tt.Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: object) -> None:
        """Raise unless a value can be a sample."""
        if not tt.is_tensor(value):
            raise tt.errors.ValueRangeError(
                f"The value argument to log_prob must be a Tensor, not {type(value).__name__}"
            )
        events = len(self._event_shape)
        if tuple(value.shape[max(value.dim() - events, 0) :]) != tuple(self._event_shape):
            raise tt.errors.ValueRangeError(
                f"The right-most size of value must match event_shape: {tuple(value.shape)} vs "
                f"{tuple(self._event_shape)}."
            )
        expected = (*self._batch_shape, *self._event_shape)
        # As in broadcasting, from the last dimension; dimensions that one side lacks are free.
        for i, j in zip(reversed(value.shape), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise tt.errors.ValueRangeError(
                    f"Value is not broadcastable with batch_shape+event_shape: {tuple(value.shape)} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warn_user(
                f"{type(self).__name__} does not define `support`, so samples are not checked; "
                "define it, or pass validate_args=False",
            )
            return
        if not _satisfied(support, value):
            raise tt.errors.ValueRangeError(
                f"Expected value argument (Tensor of shape {tuple(value.shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{_shown(value)}"
            )

    def _get_checked_instance(self, cls: type, _instance: Self | None = None) -> Self:
        # The copy is made without `__init__`, so what a subclass does there would be missing.
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise tt.errors.UnsupportedError(
                f"{type(self).__name__} has an __init__ that {cls.__name__} does not know, so it must define "
                "expand, too"
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        shown = (
            f"{name}: {value if value.numel() == 1 else value.shape}"
            for name, value in ((name, self.__dict__[name]) for name in names)
        )
        return f"{type(self).__name__}({', '.join(shown)})"


def _shown(value: tt.Tensor) -> str:
    return str(value.item() if value.dim() == 0 else value.detach())


def _satisfied(constraint: constraints.Constraint, value: tt.Tensor) -> bool:
    """Return whether all values satisfy a constraint; those without data, or inside of vmap, are not looked at."""
    try:
        return bool(constraint.check(value).all())
    except (tt.errors.DataDependentError, tt.errors.HiddenValuesError):
        return True
