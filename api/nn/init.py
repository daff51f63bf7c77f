"""Initialisation of parameters: functions that fill a tensor in place and return it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Literal, ParamSpec, TypeVar

import tt
from tt.errors import UnsupportedError
from tt.library import overridable, warn_user

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

FanMode = Literal["fan_in", "fan_out"]
P = ParamSpec("P")
R = TypeVar("R")

_GAINS = {
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d", "sigmoid"), 1.0),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), 1.0),
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the gain recommended for an activation: what keeps the variance from layer to layer.

    Parameters
    ----------
    nonlinearity : str
        The name of the function in `tt.nn.functional`.
    param : float, optional
        The slope of `leaky_relu`, 0.01 without it.

    Raises
    ------
    ValueError
        For another function, or a slope that is not a number.

    Examples
    --------
    >>> import tt
    >>> tt.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in _GAINS:
        # An int, as PyTorch returns.
        return 1 if _GAINS[nonlinearity] == 1.0 else _GAINS[nonlinearity]
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    known = ", ".join([*_GAINS, "leaky_relu"])
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}\n  supported: {known}")


@overridable
def uniform_(
    tensor: tt.Tensor, a: float = 0.0, b: float = 1.0, generator: tt.Generator | None = None
) -> tt.Tensor:
    """Fill with numbers drawn uniformly from [a, b)."""
    with tt.no_grad():
        return tensor.uniform_(a, b, generator=generator)


@overridable
def normal_(
    tensor: tt.Tensor, mean: float = 0.0, std: float = 1.0, generator: tt.Generator | None = None
) -> tt.Tensor:
    """Fill with numbers drawn from a normal distribution."""
    with tt.no_grad():
        return tensor.normal_(mean, std, generator=generator)


@overridable
def trunc_normal_(
    tensor: tt.Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: tt.Generator | None = None,
) -> tt.Tensor:
    """Fill with numbers drawn from a normal distribution that is cut off at a and b.

    Examples
    --------
    >>> import tt
    >>> bool(tt.nn.init.trunc_normal_(tt.empty(100)).abs().max() <= 2)
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn_user(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_: "
            "the distribution of values may be incorrect",
        )

    def cumulated(x: float) -> float:
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    # The inverse of the cumulated distribution, at numbers drawn uniformly from the part between a and b.
    low, high = cumulated((a - mean) / std), cumulated((b - mean) / std)
    with tt.no_grad():
        # The distribution function is (1 + erf(x / sqrt 2)) / 2, so its inverse takes 2 p - 1.
        tensor.uniform_(2 * low - 1, 2 * high - 1, generator=generator)
        tensor.erfinv_().mul_(std * math.sqrt(2.0)).add_(mean)
        # Rounding may lead past the bounds.
        return tensor.clamp_(min=a, max=b)


@overridable
def constant_(tensor: tt.Tensor, val: float) -> tt.Tensor:
    """Fill with a number."""
    with tt.no_grad():
        return tensor.fill_(val)


@overridable
def ones_(tensor: tt.Tensor) -> tt.Tensor:
    """Fill with one."""
    return constant_(tensor, 1.0)


@overridable
def zeros_(tensor: tt.Tensor) -> tt.Tensor:
    """Fill with zero."""
    with tt.no_grad():
        return tensor.zero_()


def _check_dims(tensor: tt.Tensor, allowed: tuple[int, ...], named: str) -> None:
    if tensor.ndimension() not in allowed:
        raise ValueError(
            f"Only tensors with {named} dimensions are supported, and this one has {tensor.ndimension()}"
        )


def _shape(name: str, tensor: tt.Tensor) -> tuple[int, ...]:
    """Return the shape of a tensor; of one that is divided among ranks, that of the whole."""
    placement = getattr(tensor, "placement", None)
    if placement is not None:
        shape: tuple[int, ...] = placement.shape
        return shape
    if hasattr(type(tensor), "to_local"):
        raise UnsupportedError(
            f"{name}(): the tensor is divided among ranks, and the values depend on the shape of the whole\n"
            "  try: to initialise the module before fully_shard"
        )
    return tuple(tensor.shape)


def _take(tensor: tt.Tensor, values: tt.Tensor) -> tt.Tensor:
    """Copy values into a tensor; its rows of them into one that is divided among ranks."""
    placement = getattr(tensor, "placement", None)
    return tensor.copy_(values if placement is None else placement.part(values).reshape(tensor.shape))


@overridable
def eye_(tensor: tt.Tensor) -> tt.Tensor:
    """Fill a matrix with ones in the diagonal and zeros elsewhere.

    Examples
    --------
    >>> import tt
    >>> tt.nn.init.eye_(tt.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    _check_dims(tensor, (2,), "2")
    with tt.no_grad():
        return _take(tensor, tt.eye(*_shape("eye_", tensor), device=tensor.device, dtype=tensor.dtype))


@overridable
def dirac_(tensor: tt.Tensor, groups: int = 1) -> tt.Tensor:
    """Fill the weight of a convolution so that it returns as many of its input's channels as it has.

    Parameters
    ----------
    tensor : Tensor
        The weight, with three, four or five dimensions.
    groups : int
        The groups of the convolution.

    Raises
    ------
    ValueError
        If the weight has other dimensions, or the groups do not divide its outputs.
    """
    _check_dims(tensor, (3, 4, 5), "3, 4, or 5")
    sizes = _shape("dirac_", tensor)
    if sizes[0] % groups:
        raise ValueError(f"dim 0 must be divisible by groups: it is {sizes[0]}, and groups is {groups}")
    each = sizes[0] // groups
    middle = tuple(size // 2 for size in sizes[2:])
    with tt.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(each, sizes[1])):
                # Also of a tensor that is divided among ranks these are indices into the whole.
                tensor[(group * each + channel, channel, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: tt.Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions: "
            f"the shape is {tuple(tensor.shape)}"
        )
    shape = _shape("fan in and fan out", tensor)
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(tensor: tt.Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


@overridable
def xavier_uniform_(tensor: tt.Tensor, gain: float = 1.0, generator: tt.Generator | None = None) -> tt.Tensor:
    """Fill with numbers from ±gain * sqrt(6 / (fan_in + fan_out)).

    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.
    """
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


@overridable
def xavier_normal_(tensor: tt.Tensor, gain: float = 1.0, generator: tt.Generator | None = None) -> tt.Tensor:
    """Fill from a normal distribution with deviation gain * sqrt(2 / (fan_in + fan_out)).

    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.
    """
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return normal_(tensor, 0.0, std, generator)


def _is_empty(tensor: tt.Tensor) -> bool:
    if 0 not in _shape("fan in and fan out", tensor):
        return False
    warn_user("Initializing zero-element tensors is a no-op")
    return True


@overridable
def kaiming_uniform_(
    tensor: tt.Tensor,
    a: float = 0,
    mode: FanMode = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: tt.Generator | None = None,
) -> tt.Tensor:
    """Fill with numbers from ±gain * sqrt(3 / fan).

    He, Zhang, Ren and Sun, "Delving deep into rectifiers", 2015.

    Parameters
    ----------
    tensor : Tensor
        The tensor.
    a : float
        The negative slope of the following `leaky_relu`.
    mode : {"fan_in", "fan_out"}
        Whether the variance is kept forward or backward.
    nonlinearity : str
        The activation that follows; see `calculate_gain`.
    generator : Generator, optional
        Where the random numbers come from.
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


@overridable
def kaiming_normal_(
    tensor: tt.Tensor,
    a: float = 0,
    mode: FanMode = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: tt.Generator | None = None,
) -> tt.Tensor:
    """Fill from a normal distribution with deviation gain / sqrt(fan); the parameters are `kaiming_uniform_`'s.

    He, Zhang, Ren and Sun, "Delving deep into rectifiers", 2015.
    """
    if _is_empty(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


@overridable
def orthogonal_(tensor: tt.Tensor, gain: float = 1, generator: tt.Generator | None = None) -> tt.Tensor:
    """Fill with an orthogonal matrix, times a gain; dimensions after the first count as one.

    Saxe, McClelland and Ganguli, "Exact solutions to the nonlinear dynamics of learning in deep linear neural
    networks", 2014.

    Examples
    --------
    >>> import tt
    >>> q = tt.nn.init.orthogonal_(tt.empty(3, 3))
    >>> tt.allclose(q @ q.T, tt.eye(3), atol=1e-5)
    True
    """
    if tensor.ndimension() < 2:
        raise ValueError(
            f"Only tensors with 2 or more dimensions are supported, and this one has {tensor.ndim}"
        )
    shape = _shape("orthogonal_", tensor)
    if 0 in shape:
        return tensor
    rows, columns = shape[0], math.prod(shape[1:])
    with tt.no_grad():
        part: Any = tensor.normal_(0, 1, generator=generator)
        # A divided tensor is put together, because the factor depends on the whole.
        flat = (part.full_tensor() if hasattr(part, "full_tensor") else part.detach()).reshape(rows, columns)
        # Orthonormal columns need at least as many rows.
        q, r = tt.linalg.qr(flat.t() if rows < columns else flat)
        q = q * r.diagonal().sign()  # so that every orthogonal matrix is as probable as any other
        return _take(tensor, (q.t() if rows < columns else q).reshape(shape)).mul_(gain)


@overridable
def sparse_(
    tensor: tt.Tensor, sparsity: float, std: float = 0.01, generator: tt.Generator | None = None
) -> tt.Tensor:
    """Fill a matrix from a normal distribution, and a fraction of each column with zeros.

    Martens, "Deep learning via Hessian-free optimization", 2010.

    Parameters
    ----------
    tensor : Tensor
        The matrix.
    sparsity : float
        The fraction of zeros in each column.
    std : float
        The deviation of the other elements.
    generator : Generator, optional
        Where the random numbers come from.
    """
    _check_dims(tensor, (2,), "2")
    if hasattr(type(tensor), "to_local"):
        raise UnsupportedError(
            "sparse_(): the tensor is divided among ranks, each of which would choose other zeros\n"
            "  try: to initialise the module before fully_shard"
        )
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with tt.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[tt.randperm(rows, device=tensor.device)[:zeros], column] = 0
    return tensor


def _deprecated(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function under its old name, without the underscore."""
    name = function.__name__

    @functools.wraps(function)
    def old(*args: P.args, **kwargs: P.kwargs) -> R:
        warn_user(f"`nn.init.{name[:-1]}` is now deprecated in favor of `nn.init.{name}`.", FutureWarning)
        return function(*args, **kwargs)

    old.__doc__ = f"Call `{name}`; deprecated."
    old.__name__ = old.__qualname__ = name[:-1]
    return old


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)


# Names by which libraries fill their tensors.


def _no_grad_uniform_(
    tensor: tt.Tensor, a: float, b: float, generator: tt.Generator | None = None
) -> tt.Tensor:
    with tt.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_normal_(
    tensor: tt.Tensor, mean: float, std: float, generator: tt.Generator | None = None
) -> tt.Tensor:
    with tt.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _no_grad_fill_(tensor: tt.Tensor, val: float) -> tt.Tensor:
    with tt.no_grad():
        return tensor.fill_(val)


def _no_grad_zero_(tensor: tt.Tensor) -> tt.Tensor:
    with tt.no_grad():
        return tensor.zero_()
