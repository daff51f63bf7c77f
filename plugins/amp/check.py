"""What `tt ops check` finds wrong with autocast: operators whose results have other dtypes than their policy says.

The first samples of each operator with a policy are called in fake mode with autocast on, for each device type that has
autocast: no device and no kernel is needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final

from tt.core.library import (
    REGISTRY,
    FakeMode,
    OpDefinition,
    Operator,
    Tensor,
    TensorBase,
    dtype,
    errors,
    ops,
    to_dtype,
)
from tt.operators._samples.registry import samples
from tt.plugins.amp.state import AUTOCAST, autocast_dtypes

__all__ = ["faults"]

MOST: Final = 2
"""The number of samples of an operator that are called."""
FLOAT32: Final = to_dtype("float32")

# The policy, the precision of autocast -> the dtypes of arguments and the dtype of results that they give.
EXPECTED: Final[dict[str, Callable[[dtype], dict[dtype, dtype]]]] = {
    "lower": lambda half: {FLOAT32: half},
    "lower_result": lambda half: {FLOAT32: half},
    "float32": lambda half: {half: FLOAT32},
    "set_dtype": lambda half: {half: FLOAT32},
    "widest": lambda half: {half: half, FLOAT32: FLOAT32},
}


def faults(
    definitions: Iterable[OpDefinition], policy: Callable[[Operator, str], Any]
) -> Iterator[tuple[str, str]]:
    """Yield (operator, fault) for operators that do not keep to the policy that `policy` returns for a device type."""
    devices = [kind for kind in REGISTRY.device_types() if autocast_dtypes(kind)]
    for definition in definitions:
        operator = REGISTRY.operator(definition.name)
        for device in devices:
            word = policy(operator, device)
            if isinstance(word, str) and word in EXPECTED and definition.samples:
                yield from _faults_of(operator, device, word)


def _faults_of(operator: Operator, device: str, word: str) -> Iterator[tuple[str, str]]:
    half = AUTOCAST.dtype_of(device)
    for input_dtype, expected in EXPECTED[word](half).items():
        for call in _calls(operator, device, input_dtype):
            try:
                computed = sorted({t.dtype.name for t in _tensors(call(True)) if t.is_floating_point()})
            except errors.TTError as error:
                if _fails(call):
                    continue  # without autocast, too
                text = str(error).splitlines()[0]
                yield operator.name, f"fails with autocast on {device}: {type(error).__name__}: {text}"
                break
            if computed not in ([], [expected.name]):
                yield (
                    operator.name,
                    f"autocast: {word}, but of {input_dtype.name} on {device} it gives {', '.join(computed)}, "
                    f"not {expected.name}",
                )
                break


def _calls(operator: Operator, device: str, given: dtype) -> Iterator[Callable[[bool], Any]]:
    """Yield calls of the operator's first samples in a dtype; each takes whether autocast is on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = list(islice(samples(operator.definition, "cpu", given, 0), MOST))
    for sample in drawn:
        floating = [t for t in _tensors([*sample.args, *sample.kwargs.values()]) if t.is_floating_point()]
        if sample.error is not None or not floating or any(t.dtype is not given for t in floating):
            continue

        def call(on: bool, sample: Any = sample) -> Any:
            with FakeMode(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                args = [_on(value, device) for value in sample.args]
                kwargs = {name: _on(value, device) for name, value in sample.kwargs.items()}
                AUTOCAST.switch(device, on)
                try:
                    return operator.overload("functional")(*args, **kwargs)
                finally:
                    AUTOCAST.switch(device, False)

        yield call


def _fails(call: Callable[[bool], Any]) -> bool:
    try:
        call(False)
    except errors.TTError:
        return True
    return False


def _tensors(value: object) -> Iterator[Any]:
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _tensors(each)


def _on(value: Any, device: str) -> Any:
    """Return fakes of a device in the place of tensors."""
    if isinstance(value, Tensor):
        return ops.empty_strided(tuple(value.shape), value.stride(), dtype=value.dtype, device=device)
    if isinstance(value, list | tuple):
        return type(value)([_on(each, device) for each in value])
    return value
