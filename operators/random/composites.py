"""Composites that draw random numbers; they draw the same ones as kernels do (docs/design/random.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError, DispatchError, DtypeError, ShapeError, ValueRangeError
from tt.core.shapes.geometry import broadcast
from tt.core.types.dtype import bool_, finfo, float32, float64, iinfo, int64
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.memory_format import is_preserve
from tt.core.types.user_warnings import warn_user
from tt.operators.helpers import as_type, check_shapes, python_value

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

# --- of a size, or like a tensor -------------------------------------------------------------------------------


@composite("randint")
def randint(
    high: int, size: Sequence[int], generator: Any, dtype: Dtype | None, layout: Any, device: Any
) -> Tensor:
    return ops.randint.low(0, high, size, generator=generator, dtype=dtype, layout=layout, device=device)


def _as_laid_out(drawn: Tensor, self: Tensor, memory_format: Any) -> Tensor:
    """Return numbers in the order of dimensions in memory that those like a tensor have; the order draws none."""
    if self.layout is not drawn.layout:
        return drawn
    if memory_format == "contiguous_format" or (
        is_preserve(memory_format) and self.stride() == drawn.stride()
    ):
        return drawn
    like = ops.empty_like(self, dtype=drawn.dtype, device=drawn.device, memory_format=memory_format)
    return ops.copy_(like, drawn)


def _drawn_like(
    self: Tensor, draw: Any, generator: Any, dtype: Dtype | None, layout: Any, device: Any, memory_format: Any
) -> Tensor:
    options = {
        "generator": generator,
        "dtype": dtype or self.dtype,
        "layout": layout,
        "device": device or self.device,
    }
    return _as_laid_out(draw(tuple(self.shape), **options), self, memory_format)


composite("rand_like", lambda self, *options: _drawn_like(self, ops.rand, *options))
composite("randn_like", lambda self, *options: _drawn_like(self, ops.randn, *options))


@composite("randint_like.low_dtype")
def randint_like(self: Tensor, low: int, high: int, *options: Any) -> Tensor:
    return _drawn_like(self, lambda size, **given: ops.randint.low(low, high, size, **given), *options)


composite("randint_like", lambda self, high, *options: randint_like(self, 0, high, *options))

# --- with parameters -------------------------------------------------------------------------------------------


def uniform_like(self: Tensor, generator: Any, dtype: Dtype) -> Tensor:
    """Return numbers between 0 and 1 in the shape of a tensor."""
    return ops.rand(tuple(self.shape), generator=generator, dtype=dtype, device=self.device)


@composite("bernoulli")
def bernoulli(self: Tensor, generator: Any) -> Tensor:
    _expect_probabilities(self)
    # Half precision has too few numbers between 0 and 1 for small probabilities.
    dtype = self.dtype if self.dtype.itemsize >= 4 else float32
    return as_type(ops.lt(uniform_like(self, generator, dtype), as_type(self, dtype)), self.dtype)


@composite("bernoulli.Tensor")
def bernoulli_tensor(self: Tensor, p: Tensor, generator: Any) -> Tensor:
    check_shapes("bernoulli.Tensor", self, p)
    if not p.dtype.is_floating_point:
        raise DispatchError(
            "bernoulli_", f"the probabilities are of {p.dtype} instead of a floating point dtype"
        )
    _expect_probabilities(p)
    dtype = p.dtype if p.dtype.itemsize >= 4 else float32
    return as_type(ops.lt(uniform_like(self, generator, dtype), as_type(p, dtype)), self.dtype)


@composite("bernoulli.p")
def bernoulli_p(self: Tensor, p: float, generator: Any) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueRangeError(f"bernoulli_(): the probability p is between 0 and 1, not {p}")
    return as_type(ops.lt(uniform_like(self, generator, float32), p), self.dtype)


def _expect_probabilities(p: Tensor) -> None:
    between = ops.logical_and(ops.ge(p, 0), ops.le(p, 1))
    _expect_all(between, "bernoulli: probabilities lie between 0 and 1, and some do not")


def _expect_all(fine: Tensor, problem: str) -> None:
    if python_value(ops.all(fine)) is False:
        raise ValueRangeError(problem)


def _expect_std(std: float) -> None:
    if not std >= 0:
        raise ValueRangeError(f"normal(): the standard deviation is {std}; it cannot be negative")


def _expect_stds(op: str, std: Tensor) -> None:
    if std.dtype.is_complex:
        raise DtypeError(f"{op}(): a standard deviation is real, and this one is {std.dtype}")
    _expect_all(ops.ge(std, 0), "normal(): a standard deviation is negative")


@composite("normal.Tensor_Tensor")
def normal_of_tensors(mean: Tensor, std: Tensor, generator: Any) -> Tensor:
    check_shapes("normal.Tensor_Tensor", mean, std)
    _expect_stds("normal", std)
    shape = broadcast("normal", tuple(mean.shape), tuple(std.shape))
    drawn = ops.randn(shape, generator=generator, dtype=mean.dtype, device=mean.device)
    return as_type(ops.add(ops.mul(drawn, std), mean), mean.dtype)


@composite("normal.Tensor_float")
def normal_of_means(mean: Tensor, std: float, generator: Any) -> Tensor:
    _expect_std(std)
    drawn = ops.randn(tuple(mean.shape), generator=generator, dtype=mean.dtype, device=mean.device)
    return ops.add(ops.mul(drawn, std), mean)


@composite("normal.float_Tensor")
def normal_of_stds(mean: float, std: Tensor, generator: Any) -> Tensor:
    _expect_stds("normal", std)
    drawn = ops.randn(tuple(std.shape), generator=generator, dtype=std.dtype, device=std.device)
    return ops.add(ops.mul(drawn, std), mean)


@composite("normal.float_float")
def normal_of_size(
    mean: float,
    std: float,
    size: Sequence[int],
    generator: Any,
    dtype: Dtype | None,
    layout: Any,
    device: Any,
) -> Tensor:
    _expect_std(std)
    drawn = ops.randn(size, generator=generator, dtype=dtype, layout=layout, device=device)
    return ops.add(ops.mul(drawn, std), mean)


@composite("normal")
def normal(self: Tensor, mean: float, std: float, generator: Any) -> Tensor:
    _expect_std(std)
    drawn = ops.randn(tuple(self.shape), generator=generator, dtype=self.dtype, device=self.device)
    return ops.add(ops.mul(drawn, std), mean)


@composite("uniform")
def uniform(self: Tensor, from_: float, to: float, generator: Any) -> Tensor:
    if from_ > to:
        raise ValueRangeError(f"uniform_(): from is {from_} and to is {to}; from cannot be the larger one")
    return ops.add(ops.mul(uniform_like(self, generator, self.dtype), to - from_), from_)


@composite("exponential")
def exponential(self: Tensor, lambd: float, generator: Any) -> Tensor:
    if not lambd > 0:
        raise ValueRangeError(f"exponential_(): the rate lambd is positive, and {lambd} is not")
    dtype = self.dtype if self.dtype is float64 else float32
    drawn = as_type(uniform_like(self, generator, dtype), float64)
    # Half a step above the uniform number: none is 0, whose logarithm is not finite.
    half_step = 2.0**-54 if dtype is float64 else 2.0**-25
    return as_type(ops.div.default(ops.log(ops.add(drawn, half_step)), -lambd), self.dtype)


@composite("multinomial")
def multinomial(self: Tensor, num_samples: int, replacement: bool, generator: Any) -> Tensor:
    check_shapes("multinomial", self, num_samples, replacement)
    weights = as_type(self, float64)
    fine = ops.logical_and(ops.ge(weights, 0), ops.lt(weights, math.inf))
    _expect_all(fine, "multinomial(): a weight is negative, infinite or not a number")
    total = ops.sum.dim(weights, (-1,), True)
    _expect_all(ops.gt(total, 0), "multinomial(): the weights of a row are all zero, so nothing can be drawn")
    if not replacement:
        # Of exponential times with these rates, the smallest come first.
        times = ops.exponential_(
            ops.empty(tuple(self.shape), dtype=float32, device=self.device), 1.0, generator=generator
        )
        return ops.topk(ops.div.default(weights, times), num_samples, -1)[1]
    cumulative = ops.cumsum(weights, -1)
    last = ops.narrow(cumulative, cumulative.ndim - 1, cumulative.shape[-1] - 1, 1)
    # In float64: float32 has 2^24 uniform numbers, and indices less likely than that would never be drawn.
    drawn = ops.rand((*self.shape[:-1], num_samples), generator=generator, dtype=float64, device=self.device)
    target = ops.unsqueeze(ops.mul(drawn, last), -1)
    cumulative, last = ops.unsqueeze(cumulative, -2), ops.unsqueeze(last, -2)
    # What reaches the last sum only by rounding counts for the last index that has a probability.
    passed = ops.logical_and(ops.le(cumulative, target), ops.lt(cumulative, last))
    return ops.sum.dim(passed, (-1,))


# --- dropout ---------------------------------------------------------------------------------------------------


def _expect_probability(op: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueRangeError(f"{op}(): the dropout probability p is between 0 and 1, not {p}")


def _kept(self: Tensor, p: float, shape: Sequence[int]) -> Tensor:
    """Return ones where elements are kept and zeros where they are dropped."""
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise DtypeError(
            f"dropout(): result type float32 can't be cast to the desired output type {self.dtype}"
        )
    return ops.bernoulli.p(ops.empty(tuple(shape), dtype=self.dtype.to_real(), device=self.device), 1 - p)


def _drop(self: Tensor, p: float, training: bool, inplace: bool, shape: Sequence[int]) -> Tensor:
    if not training or p == 0 or not self.numel():
        return self
    noise = _kept(self, p, shape)
    # Scaled up while training, so that evaluation is the identity.
    if p < 1:
        noise = ops.mul(noise, 1 / (1 - p))
    return ops.mul_(self, noise) if inplace else ops.mul(self, noise)


def _drop_elements(self: Tensor, p: float, training: bool, inplace: bool, shape: Sequence[int]) -> Tensor:
    """Drop elements one by one, which has kernels of its own."""
    if inplace or not training or p == 0 or not (self.dtype.is_floating_point or self.dtype.is_complex):
        return _drop(self, p, training, inplace, shape)
    return ops.native_dropout(self, p, True)[0] if self.numel() else self


@composite("native_dropout")
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Any, Any]:
    _expect_probability("native_dropout", p)
    if train is False:
        kept = ops.ones(tuple(input.shape), dtype=bool_, device=input.device)
        return ops.clone(input, memory_format="contiguous_format"), kept
    mask = as_type(_kept(input, p, input.shape), bool_)
    return ops.native_dropout_backward(input, mask, 1 / (1 - p) if p < 1 else 0.0), mask


@composite("native_dropout_backward")
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    check_shapes("native_dropout_backward", grad_output, mask)
    factor = ops.mul(as_type(mask, grad_output.dtype.to_real()), scale)
    return ops.mul(grad_output, factor)


def _drop_alpha(self: Tensor, p: float, training: bool, inplace: bool, shape: Sequence[int]) -> Tensor:
    if not training or p == 0 or not self.numel():
        return self
    noise = _kept(self, p, shape)
    if p < 1:
        # Dropped elements get the value at which selu saturates; scaled and moved so that mean and variance stay.
        scale = 1 / math.sqrt((_SATURATION**2 * p + 1) * (1 - p))
        moved = ops.mul(ops.sub(noise, 1 - p), _SATURATION * scale)
        noise = ops.mul(noise, scale)
    else:
        moved = noise
    if inplace:
        return ops.add_(ops.mul_(self, noise), moved)
    return ops.add(ops.mul(self, noise), moved)


_SATURATION: Final = 1.7580993408473766
"""Minus the limit of selu for large negative numbers: its scale times its alpha."""


def _channels(op: str, self: Tensor, ranks: Sequence[int], batched: int) -> tuple[int, ...]:
    """Return the shape of one number for each channel."""
    if self.ndim not in ranks:
        raise DimensionCountError(
            f"{op}(): the input has {' or '.join(map(str, ranks))} dimensions, not {self.ndim}"
        )
    _warn_of_rank(op, self.ndim)
    leading = 1 if self.ndim < batched or (op == "dropout3d" and self.ndim > batched) else 2
    return (*self.shape[:leading], *(1,) * (self.ndim - leading))


def _warn_of_rank(op: str, ndim: int) -> None:
    """Warn of tensors that are no images or volumes, of which each number of the first dimensions is a channel."""
    if op == "dropout2d" and ndim == 3:
        meant = "dropout1d, if the dimensions are (N, C, L); in the future they will mean (C, H, W)"
    elif (op == "dropout2d" and ndim != 4) or (op == "dropout3d" and ndim not in (4, 5)):
        meant = "dropout, which drops single elements; in the future this will be an error"
    else:
        return
    warn_user(f"{op}(): the input has {ndim} dimensions\n  try: {meant}")


def _define(op: str, drop: Callable[..., Any], ranks: Sequence[int] = (), batched: int = 0) -> None:
    """Define an operator that drops elements or, of tensors with one of the given ranks, channels."""

    def dropout(self: Tensor, p: float, training: bool, inplace: bool) -> Any:
        _expect_probability(op, p)
        if op == "feature_alpha_dropout" and not training:
            return drop(self, p, training, inplace, ())  # of any number of dimensions
        return drop(self, p, training, inplace, _channels(op, self, ranks, batched) if ranks else self.shape)

    composite(op, dropout)


_define("dropout", _drop_elements)
_define("alpha_dropout", _drop_alpha)
_define("dropout1d", _drop, (2, 3), 3)
_define("dropout2d", _drop, range(2, 9), 2)
_define("dropout3d", _drop, range(1, 9), 5)
_define("feature_alpha_dropout", _drop_alpha, range(2, 9), 2)


# --- by the inverse of the distribution ------------------------------------------------------------------------

HALF_STEP: Final = 2.0**-54
"""Half the distance of uniform numbers in double precision; added to them, none is 0."""


def _inner(self: Tensor, generator: Any) -> Tensor:
    """Return uniform numbers in double precision between 0 and 1, without these."""
    return ops.add(uniform_like(self, generator, float64), HALF_STEP)


@composite("cauchy")
def cauchy(self: Tensor, median: float, sigma: float, generator: Any) -> Tensor:
    if not sigma > 0:
        raise ValueRangeError(f"cauchy_(): sigma must be positive, got {sigma}")
    angle = ops.mul(ops.sub(_inner(self, generator), 0.5), math.pi)
    return as_type(ops.add(ops.mul(ops.tan(angle), sigma), median), self.dtype)


@composite("log_normal")
def log_normal(self: Tensor, mean: float, std: float, generator: Any) -> Tensor:
    if not std > 0:
        raise ValueRangeError(f"log_normal_(): std must be positive, got {std}")
    drawn = ops.randn(tuple(self.shape), generator=generator, dtype=float64, device=self.device)
    return as_type(ops.exp(ops.add(ops.mul(drawn, std), mean)), self.dtype)


@composite("geometric")
def geometric(self: Tensor, p: float, generator: Any) -> Tensor:
    if not 0 < p < 1:
        raise ValueRangeError(f"geometric_(): p must be between 0 and 1, got {p}")
    # The first success of trials with probability p, by the inverse of its distribution function.
    trials = ops.ceil(ops.div.default(ops.log(_inner(self, generator)), math.log1p(-p)))
    trials = ops.clamp(trials, 1, None)
    if not self.dtype.is_floating_point:
        trials = ops.clamp(trials, None, min(iinfo(self.dtype).max, 2**53))
    return as_type(trials, self.dtype)


# --- integers --------------------------------------------------------------------------------------------------


def _largest(dtype: Dtype) -> int:
    """Return the largest integer that `random_` draws."""
    if dtype.kind == "bool":
        return 1
    if dtype.is_floating_point:
        return int(2 / finfo(dtype).eps)  # up to here every integer is one of its numbers
    return min(int(iinfo(dtype).max), 2**63 - 1)


def _drawn(self: Tensor, low: int, high: int, generator: Any) -> Tensor:
    if low >= high:
        raise ShapeError(f"random_(): expects 'from' to be less than 'to', but got from={low} >= to={high}")
    for name, value in (("from", low), ("to - 1", high - 1)):
        least = 0 if self.dtype.kind in ("bool", "unsigned") else -(2**63)
        most = _largest(self.dtype)
        if self.dtype.is_floating_point:
            least, most = (-int(finfo(self.dtype).max), int(finfo(self.dtype).max))
        elif self.dtype.kind == "signed":
            least = int(iinfo(self.dtype).min)
        if not least <= value <= most:
            raise ValueRangeError(f"random_(): {name} = {value} is out of bounds for {self.dtype}")
        if self.dtype.is_floating_point and abs(value) > _largest(self.dtype):
            warn_user(
                f"random_(): {name} = {value} is beyond {_largest(self.dtype)}, and {self.dtype.name} lacks some "
                "integers between them\n  try: a dtype with more digits"
            )
    high = min(high, 2**63 - 1)
    drawn = ops.randint.low(
        low, high, tuple(self.shape), generator=generator, dtype=int64, device=self.device
    )
    return as_type(drawn, self.dtype)


@composite("random.from_to")
def random_from(self: Tensor, from_: int, to: int | None, generator: Any) -> Tensor:
    return _drawn(self, from_, _largest(self.dtype) + 1 if to is None else to, generator)


composite("random.to", lambda self, to, generator: _drawn(self, 0, to, generator))
composite("random", lambda self, generator: _drawn(self, 0, _largest(self.dtype) + 1, generator))
