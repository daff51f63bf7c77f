"""The frozen cases of the CUDA benchmark."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from benchmarks.cuda.cases import arrays_of, evaluated, function_of, read_cases
from benchmarks.cuda.measure import Floors, agree, floor_of, measure_case
from benchmarks.cuda.runners import to_array

CASES = read_cases()
pytestmark = pytest.mark.torch
pytest.importorskip("torch")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_complete_and_tt_agrees_with_pytorch_at_tiny_sizes(case):
    devices = {"tt": "cpu", "torch": "cpu"}
    found = measure_case(case, ["tt", "torch"], None, devices=devices, rounds=1, seconds=1.0, dry=True)
    assert found.agreed == ["tt", "torch"] and not found.failures and not found.turns
    floor = floor_of(case, Floors(1e12, dict.fromkeys(("float16", "bfloat16", "float32", "tf32"), 1e14)))
    assert (floor is None) == (not case.bytes and not case.flops)
    assert floor is None or floor > 0.001
    assert set(arrays_of(case, case.dry)) == set(case.inputs) >= set(case.gradient)


def test_names_are_unique():
    assert len({case.name for case in CASES}) == len(CASES) == 24


def test_formulas_know_sizes_and_nothing_else():
    assert evaluated("4 * (3 * m * n + n) - 2 ** n // 3", {"m": 5, "n": 2}) == 127
    for text in ("__import__('os')", "n.real", "1.5 * n", "n if n else 1"):
        with pytest.raises(ValueError, match="is not a formula of sizes"):
            evaluated(text, {"n": 2})
    with pytest.raises(KeyError):
        evaluated("m", {"n": 2})


def test_a_case_with_an_aim_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="an aim, a runner or a size that there is not"):
        dataclasses.replace(CASES[0], aim="fastest")
    with pytest.raises(ValueError, match="flops need the dtype of their ceiling"):
        dataclasses.replace(CASES[0], flops="n")


def test_floors_are_the_longer_of_moving_and_computing():
    product = next(case for case in CASES if case.name == "batched product, bfloat16, 128x512x64")
    moved, computed = 2 * 128 * (2 * 512 * 64 + 512 * 512), 2 * 128 * 512 * 512 * 64
    slow_memory = Floors(1e9, {"bfloat16": 1e15})
    assert floor_of(product, slow_memory) == pytest.approx(moved / 1e9 * 1e6)
    assert floor_of(product, Floors(1e15, {"bfloat16": 1e12})) == pytest.approx(computed / 1e12 * 1e6)


def test_a_statement_sees_its_inputs_and_returns_its_result():
    case = dataclasses.replace(CASES[0], setup="z = x + n", statement="result = z * 2")
    assert function_of(case, {"x": 3, "n": 1})() == 8


def test_values_that_differ_are_found():
    case = CASES[0]
    x = np.ones(4, np.float32)
    assert agree(case, x, x + np.float32(1e-7)) and not agree(case, x, x + np.float32(1e-2))
    assert not agree(case, x, x[:3]) and not agree(case, x, x.astype(np.int64))
    z = x + 1j * x
    assert agree(case, z, z) and not agree(case, z, z.conj())


def test_tensors_of_both_libraries_become_arrays():
    import torch

    import tt

    for library in (tt, torch):
        assert to_array(library.ones(2, dtype=library.bfloat16)).tolist() == [1.0, 1.0]
        assert to_array(library.ones(2, requires_grad=True) * 2).tolist() == [2.0, 2.0]
