"""The warnings of PyTorch: the same calls warn here, with the same category, at the line of the program."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CASES: dict[str, Callable[[Any], Any]] = {}
"""Calls that warn, by what they are about."""
QUIET: dict[str, Callable[[Any], Any]] = {}
"""Their siblings that do not."""


def warning(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    CASES[call.__name__] = call
    return call


def quiet(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    QUIET[call.__name__] = call
    return call


def caught(call: Callable[[Any], Any], lib: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call(lib)
    return found


@pytest.fixture(autouse=True)
def _every_time() -> Any:
    """Let PyTorch repeat what it says once in a process."""
    switch = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(switch)


def parameter(lib: Any) -> Any:
    return lib.ones(2, requires_grad=True)


# --- gradients -------------------------------------------------------------------------------------------------


@warning
def backward_that_is_recorded(lib):
    x = parameter(lib)
    (x * x).sum().backward(create_graph=True)


@warning
def function_backward_that_is_recorded(lib):
    x = parameter(lib)
    lib.autograd.backward((x * x).sum(), create_graph=True, inputs=[x])


@quiet
def grad_that_is_recorded(lib):
    x = parameter(lib)
    lib.autograd.grad((x * x).sum(), x, create_graph=True)


@warning
def grad_of_not_only_inputs(lib):
    x = parameter(lib)
    assert lib.autograd.grad((x * x).sum(), x, only_inputs=False)[0].tolist() == [2.0, 2.0]


@warning
def backward_with_grad_variables(lib):
    x = parameter(lib)
    lib.autograd.backward((x * x).sum(), grad_variables=lib.tensor(2.0))
    assert x.grad.tolist() == [4.0, 4.0]


@warning
def variable_that_is_volatile(lib):
    lib.autograd.Variable(lib.ones(2), volatile=True)


@warning
def checkpoint_without_its_form(lib):
    lib.utils.checkpoint.checkpoint(lambda x: x * 2, parameter(lib))


@warning
def checkpoint_sequential_without_its_form(lib):
    lib.utils.checkpoint.checkpoint_sequential([lib.sin, lib.cos], 2, parameter(lib))


@quiet
def checkpoints_with_their_form(lib):
    lib.utils.checkpoint.checkpoint(lambda x: x * 2, lib.ones(2), use_reentrant=False)
    lib.utils.checkpoint.checkpoint_sequential([lib.sin], 1, parameter(lib), use_reentrant=False)


# --- numbers and arrays ----------------------------------------------------------------------------------------


@warning
def float_of_a_tensor_with_gradient(lib):
    float(lib.ones((), requires_grad=True))


@warning
def complex_of_a_tensor_with_gradient(lib):
    complex(lib.ones((), requires_grad=True))


@warning
def square_root_of_a_tensor_with_gradient(lib):
    math.sqrt(lib.ones((), requires_grad=True))


@warning
def list_of_tensors_with_gradient(lib):
    lib.tensor([1.0, lib.ones((), requires_grad=True)])


@quiet
def numbers_of_tensors_with_gradient(lib):
    x = lib.ones((), requires_grad=True)
    int(x), bool(x), x.item(), x.tolist(), f"{x:.2f}", float(x.detach())
    lib.zeros(2)[0] = x
    with lib.no_grad():
        float(x), lib.tensor([x])


@warning
def tensor_of_a_list_of_arrays(lib):
    lib.tensor([np.zeros(2), np.ones(2)])


@warning
def as_tensor_of_a_list_of_arrays(lib):
    lib.as_tensor((np.zeros(2), np.ones(2)))


@warning
def asarray_of_nested_arrays(lib):
    lib.asarray([[np.zeros(2)]])


@warning
def tensor_of_lists_and_arrays(lib):
    lib.tensor([[1, 2], np.zeros(2)])


@warning
def new_tensor_of_a_list_of_arrays(lib):
    lib.zeros(2).new_tensor([np.zeros(2)])


@warning
def constructor_of_a_list_of_arrays(lib):
    lib.FloatTensor([np.zeros(2)])


@warning
def index_of_arrays(lib):
    lib.ones(2, 2)[([np.array([0, 1])],)]


@quiet
def arrays_and_numbers(lib):
    lib.tensor(np.zeros(2)), lib.tensor([np.float32(1), 2.0]), lib.tensor([lib.tensor(1.0)])
    lib.utils.data.default_collate([np.zeros(2), np.zeros(2)])


@warning
def array_of_complex_numbers_as_real(lib):
    lib.tensor(np.ones(2, np.complex128), dtype=lib.float32)


@warning
def asarray_of_a_tensor_with_gradient(lib):
    lib.asarray(lib.ones(2, requires_grad=True))


@quiet
def asarray_that_says_so(lib):
    lib.asarray(lib.ones(2, requires_grad=True), requires_grad=False)
    lib.asarray(lib.ones(2, requires_grad=True), requires_grad=True), lib.asarray(lib.ones(2))


# --- hooks in pickles ------------------------------------------------------------------------------------------


def _hook(grad):
    return grad


@warning
def pickle_of_a_tensor_with_a_hook(lib):
    x = parameter(lib)
    x.register_hook(_hook)
    pickle.dumps(x)


@quiet
def pickles_without_hooks_to_lose(lib):
    x, p = parameter(lib), lib.nn.Parameter(lib.ones(2))
    x.register_hook(lib.utils.hooks.unserializable_hook(lambda grad: grad))
    x.register_post_accumulate_grad_hook(lambda _: None)
    p.register_hook(_hook)
    pickle.dumps((x, p)), copy.deepcopy(x)
    handle = x.register_hook(_hook)
    handle.remove()
    pickle.dumps(x)


# --- the tests -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_calls_warn_as_in_torch(name: str) -> None:
    found = caught(CASES[name], tt)
    assert {w.category for w in found} == {w.category for w in caught(CASES[name], torch)} != set()
    assert all(w.filename == __file__ for w in found), "the line of the program"


@pytest.mark.parametrize("name", QUIET)
def test_their_siblings_do_not(name: str) -> None:
    assert [str(w.message) for w in caught(QUIET[name], tt)] == []
    assert [str(w.message) for w in caught(QUIET[name], torch)] == []
