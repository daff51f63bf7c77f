"""Wrong arguments give errors of tt: none of NumPy's, SciPy's or Python's comes through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tt
from tt.core.errors import TTError
from tt.core.library import REGISTRY
from tt.core.schema.classes import dtype_names
from tt.testing.samples import samples

TENSORS: list[Any] = [
    tt.ones(7, 5, 3), tt.ones(()), tt.zeros(0), tt.ones(2, 3, dtype=tt.int64), tt.ones(2, 3, dtype=tt.bool),
    tt.ones(2, 3, dtype=tt.complex64), tt.full((3,), 100), tt.full((3,), -1), "x",
]  # fmt: skip
LISTS: list[Any] = [
    [], [9], [-9], [2**63], [1, 1], [-1], [0], ["a"], [1.5], (1, 2, 3, 4, 5, 6, 7), [tt.ones(2), tt.ones(3, 4)], 9, int
]  # fmt: skip
NUMBERS: list[Any] = [
    9, -9, 2**63, -(2**63) - 1, -1, 0, 1.5, float("nan"), float("inf"), 1j, "nonsense", [9], [1, 2, 3, 4, 5], None, int
]  # fmt: skip

OTHERS = {
    "_fft_c2c": "internal: its dimensions are checked by who calls it",
}
DEFINITIONS = [d for d in REGISTRY.definitions() if "::" not in d.name and d.samples and d.name not in OTHERS]


def wrong(argument: Any, value: Any) -> list[Any]:
    if isinstance(value, tt.Tensor) and value.layout is tt.strided:
        return [*TENSORS, value.to(tt.complex64)]  # a kernel must not drop the imaginary parts
    if isinstance(value, tt.Tensor) or (argument.type.is_tensor and not isinstance(value, list | tuple)):
        return TENSORS
    if isinstance(value, list | tuple):
        return LISTS
    if argument.type.base == "any":  # a function may be valid, and its exceptions are the user's
        return [value for value in NUMBERS if not callable(value)]
    return ["nonsense", "", 5] if argument.type.base == "str" else NUMBERS


def copied(value: Any, device: str) -> Any:
    if isinstance(value, tt.Tensor):
        return value.to(device, copy=True)
    return type(value)(copied(v, device) for v in value) if isinstance(value, list | tuple) else value


def chosen(definition: Any) -> list[Any]:
    """Return the first sample, and the first one with a tensor of several dimensions."""
    served = dtype_names(definition.dtypes)
    dtype = getattr(tt, next((n for n in ("float32", "int64", "bool") if n in served), served[0]))
    found = [s for s in samples(definition, "cpu", dtype) if s.error is None]
    large = [s for s in found if any(isinstance(a, tt.Tensor) and a.ndim > 1 and a.numel() for a in s.args)]
    return found[:1] + large[:1]


def calls(definition: Any, device: str) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Yield calls in each of which one argument is wrong."""
    for sample in chosen(definition):
        for position, argument in enumerate(definition.signature.arguments):
            positional = position < len(sample.args)
            given = sample.args[position] if positional else sample.kwargs.get(argument.name)
            for value in wrong(argument, given):
                args = [copied(v, device) for v in sample.args]
                kwargs = {name: copied(v, device) for name, v in sample.kwargs.items()}
                if positional:
                    args[position] = copied(value, device)
                else:
                    kwargs[argument.name] = copied(value, device)
                yield f"{argument.name}={value!r}", tuple(args), kwargs


@pytest.mark.filterwarnings("ignore", "error::numpy.exceptions.ComplexWarning")
@pytest.mark.sampled(6)
@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.name)
def test_wrong_arguments_give_errors_of_tt(definition: Any, device: str) -> None:
    for what, args, kwargs in calls(definition, device):
        try:
            REGISTRY.operator(definition.name).overload()(*args, **kwargs)
        except TTError:
            continue
        except Exception as error:
            raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error


HUGE = 2**63


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x[HUGE], lambda x: x[-HUGE - 1], lambda x: x[::HUGE], lambda x: x[[HUGE]],
        lambda x: x.narrow(0, HUGE, 1), lambda x: x.select(0, HUGE), lambda x: x.roll(HUGE), lambda x: x.sum(HUGE),
        lambda x: x.expand(HUGE, 3), lambda x: x.tensor_split(HUGE), lambda x: tt.zeros(HUGE),
        lambda x: tt.vander(x, HUGE),
        lambda x: x.view(HUGE), lambda x: x.repeat(HUGE),
    ],
)  # fmt: skip
def test_integers_of_more_than_64_bits_are_refused(call: Any) -> None:
    with pytest.raises(TTError):
        call(tt.ones(3))


@pytest.mark.parametrize(
    "call",
    [
        lambda: tt.broadcast_shapes(2, int), lambda: tt.broadcast_shapes((2, int)), lambda: tt.manual_seed(int),
        lambda: tt.tensor([int]), lambda: tt.ones(2).size(int), lambda: tt.Generator().manual_seed(int),
    ],
)  # fmt: skip
def test_a_class_of_numbers_is_no_number(call: Any) -> None:
    with pytest.raises(TypeError, match=r"int|no dtype"):
        call()


@pytest.mark.parametrize("name", ["weight", "bias", "running_mean", "running_var"])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_complex_parameters_of_a_real_batch_are_refused(name: str, device: str) -> None:
    names = ("weight", "bias", "running_mean", "running_var")
    given = [tt.ones(3, device=device, dtype=tt.complex64 if n == name else tt.float32) for n in names]
    with pytest.raises(TTError, match=f"{name} is complex"):
        tt.ops._batch_norm(tt.ones(2, 3, device=device), *given, False, 0.1)


@pytest.mark.parametrize("shift", [tt.fft.fftshift, tt.fft.ifftshift])
@pytest.mark.parametrize("dim", [0, (0,), -1, 1])
def test_a_number_has_no_dimension_to_shift_along(shift: Any, dim: Any) -> None:
    with pytest.raises(tt.errors.DimensionError):
        shift(tt.tensor(1.5), dim)


def test_slices_may_reach_beyond_64_bits() -> None:
    x = tt.ones(3)
    assert x[:HUGE].shape == (3,)
    assert x[HUGE:].shape == (0,)
    assert x[-(2**70) :].shape == (3,)


@pytest.mark.parametrize("pivots", [[0, 2], [1, -1], [1, 3]])
def test_pivots_out_of_range_are_refused(pivots: list[int]) -> None:
    given = tt.tensor(pivots, dtype=tt.int32)
    with pytest.raises(RuntimeError, match="a pivot is not between 1 and the 2 rows"):
        tt.lu_unpack(tt.eye(2), given)
    with pytest.raises(RuntimeError, match="a pivot is not between 1 and the 2 rows"):
        tt.linalg.lu_solve(tt.eye(2), given, tt.ones(2, 1))


def test_pivots_that_do_not_fit_are_refused() -> None:
    with pytest.raises(RuntimeError, match="do not fit LU_data"):
        tt.lu_unpack(tt.eye(2), tt.tensor([1, 2, 2], dtype=tt.int32))


def test_errors_of_foreign_kernels_pass_as_they_are() -> None:
    class OwnError(ValueError):
        pass

    with tt.library.scoped():

        @tt.library.custom_op("wrong::raises", mutates_args=())
        def raises(x: tt.Tensor) -> tt.Tensor:
            raise OwnError("of its own")

        with pytest.raises(OwnError, match="of its own"):
            raises(tt.ones(2))
