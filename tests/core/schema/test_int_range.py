"""Integers that 64 bits do not hold are refused by name, on every device."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.schema.int_range import of_any_width
from tt.core.testing.samples import samples

B = 2**63
CALLS = {
    "a step": (lambda x: x[::B], "step"),
    "a step of columns": (lambda x: x[:, ::B], "step"),
    "slice": (lambda x: tt.ops.slice(x, 0, 0, 2, B), "step"),
    "roll": (lambda x: x.roll(B), "shifts"),
    "roll backwards": (lambda x: x.roll(-B - 1, 0), "shifts"),
    "roll of several": (lambda x: x.roll((1, B), (0, 1)), "shifts"),
    "tril": (lambda x: x.tril(-B - 1), "diagonal"),
    "diagonal": (lambda x: x.diagonal(B), "offset"),
    "unfold": (lambda x: x.unfold(0, 1, B), "step"),
}


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("dtype", [tt.float32, tt.int64], ids=str)
@pytest.mark.parametrize("call", CALLS)
def test_the_argument_is_named(call, dtype, device):
    run, name = CALLS[call]
    x = tt.zeros(2, 3, dtype=dtype, device=device)
    with pytest.raises(tt.errors.NumberRangeError, match=rf"\(\): {name}=-?922.* is not a 64-bit integer"):
        run(x)


def calls_with(operator: Any) -> Any:
    """Yield the first sample that gives each integer, with that one replaced: name, args, kwargs."""
    arguments, seen = operator.definition.signature.arguments, set()
    for sample in samples(operator.definition):
        given = dict(zip((a.name for a in arguments), sample.args, strict=False))
        for argument in arguments:
            name = argument.name
            value = given[name] if name in given else sample.kwargs.get(name)
            if argument.type.base != "int" or name in seen or value is None:
                continue
            seen.add(name)
            wide = B if not argument.type.list else (B,) if isinstance(value, int) else (*value[:-1], B)
            args = [
                wide if n == name and i < len(sample.args) else v for i, (n, v) in enumerate(given.items())
            ]
            yield name, args, {n: wide if n == name else v for n, v in sample.kwargs.items()}


def takes_integers(operator: Any) -> bool:
    signature = operator.definition.signature
    return any(a.type.base == "int" for a in signature.arguments) and not of_any_width(signature)


OPERATORS = [n for n in REGISTRY.names() if takes_integers(REGISTRY.operator(n))]


@pytest.mark.parametrize("name", OPERATORS)
def test_no_operator_takes_one(name):
    operator = REGISTRY.operator(name)
    for argument, args, kwargs in calls_with(operator):
        with pytest.raises(tt.errors.NumberRangeError, match=f"{argument}=.*64-bit"):
            operator.overload("functional")(*args, **kwargs)


def test_bounds_of_random_values_are_as_wide_as_uint64():
    assert tt.randint(B, 2 * B - 1, (3,), dtype=tt.uint64).shape == (3,)


@pytest.mark.parametrize("native", ["0", "1"])
def test_a_step_is_refused_where_slices_are_cached(native):
    program = (
        "import tt; x = tt.zeros(2, 3)\n"
        "for step in (2, 2, 2**63):\n"
        "    try: x[:, ::step]; x[::step]\n"
        "    except tt.errors.NumberRangeError: print('refused', step == 2**63)\n"
    )
    environment = {**os.environ, "TT_NATIVE": native}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "refused True\n"


def test_fake_tensors_refuse_it_too():
    with tt.fake_mode(), pytest.raises(tt.errors.NumberRangeError, match="shifts="):
        tt.zeros(2, 3).roll(B)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(
    "call",
    [
        lambda x: x[B],
        lambda x: x[-B - 1],
        lambda x: x.select(0, B),
        lambda x: x.narrow(0, B, 1),
        lambda x: x.narrow(0, 0, B),
    ],
)
def test_a_place_beyond_all_tensors_is_no_raw_error(call, device):
    with pytest.raises(tt.errors.TTError):
        call(tt.zeros(2, 3, device=device))


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_ends_of_slices_are_cut_as_in_python(device):
    x = tt.zeros(2, 3, device=device)
    assert [tuple(x[s].shape) for s in (slice(B, None), slice(None, B), slice(-B - 1, None), slice(None, -B - 1))] == [
        (0, 3), (2, 3), (2, 3), (0, 3)
    ]  # fmt: skip
    assert tuple(x[:: B - 1].shape) == (1, 3)


@pytest.mark.torch
def test_pytorch_refuses_the_same():
    torch = pytest.importorskip("torch")

    x = torch.zeros(2, 3)
    for run, _ in [CALLS[name] for name in ("roll", "roll backwards", "tril", "diagonal", "unfold")]:
        with pytest.raises((ValueError, RuntimeError, OverflowError)):
            run(x)
