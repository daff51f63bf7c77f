"""Every class of modules against PyTorch's own database of modules: outputs, gradients, state dicts, repr, errors."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest")

import inspect
from collections.abc import Iterator

import torch

import tt
from tests.api.nn.modules.module_db import CLASSES, NOT_COMPARED, ROWS, compare_errors, compare_row

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore"),  # torch warns of samples of its own database
]


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Run PyTorch on one thread: several of them wait for each other where other processes run."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", CLASSES)
def test_agrees_with_pytorch(name: str, training: bool) -> None:
    assert compare_row(name, training) or any(key.startswith(name) for key in NOT_COMPARED)


@pytest.mark.parametrize(
    "name", sorted(name for name, row in ROWS.items() if row.module_error_inputs_func is not None)
)
def test_refuses_what_pytorch_refuses(name: str) -> None:
    assert compare_errors(name)


def test_signatures_are_pytorchs() -> None:
    for name in dir(tt.nn):
        own, other = getattr(tt.nn, name), getattr(torch.nn, name, None)
        if not (isinstance(own, type) and issubclass(own, tt.nn.Module)):
            continue
        got = {p.name: p.default for p in inspect.signature(own.__init__).parameters.values()}
        expected = {p.name: p.default for p in inspect.signature(other.__init__).parameters.values()}
        assert list(got) == list(expected), name
        for key, value in expected.items():
            if isinstance(value, (bool, int, float, str, type(None))):
                assert got[key] == value, f"{name}({key}=)"


def test_every_class_of_pytorch_is_compared() -> None:
    kinds = {name for name, kind in vars(torch.nn).items() if isinstance(kind, type)}
    modules = {name for name in kinds if issubclass(getattr(torch.nn, name), torch.nn.Module)}
    assert modules == set(CLASSES)
    assert len(CLASSES) >= 163 and len(NOT_COMPARED) <= 3
