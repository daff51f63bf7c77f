"""Parameter: a tensor that is to be trained."""

from __future__ import annotations

import copy
import pickle

import pytest

import tt
from tests.core.dispatching import Library
from tt.core.methods.parameter import Parameter


class Labelled(tt.Tensor):
    """A class that keeps its type in results."""


def test_a_parameter_requires_gradients_and_shares_the_memory():
    x = tt.tensor([1.0, 2.0])
    p = Parameter(x)
    assert isinstance(p, tt.Tensor) and p.requires_grad and p.is_leaf and not x.requires_grad
    x[0] = 5.0
    assert p.tolist() == [5.0, 2.0]
    assert not Parameter(x, requires_grad=False).requires_grad


def test_a_parameter_of_a_result_is_a_leaf():
    x = tt.ones(2, requires_grad=True)
    assert Parameter(x * 2).is_leaf


def test_the_empty_parameter():
    assert Parameter().shape == (0,) and Parameter().dtype is tt.float32


def test_what_is_no_tensor_or_has_no_gradient_is_refused():
    with pytest.raises(TypeError, match="Parameter data should be a Tensor, not list"):
        Parameter([1.0])
    with pytest.raises(RuntimeError, match="can require gradients"):
        Parameter(tt.tensor([1]))
    assert Parameter(tt.tensor([1]), requires_grad=False).dtype is tt.int64


@pytest.mark.torch
def test_it_prints_as_in_torch():
    torch = pytest.importorskip("torch")
    for gradient in (True, False):
        expected = repr(torch.nn.Parameter(torch.ones(2, 2), requires_grad=gradient))
        assert repr(Parameter(tt.ones(2, 2), requires_grad=gradient)) == expected


def test_results_are_plain_tensors_with_history():
    p = Parameter(tt.tensor([1.0, 2.0]))
    y = p * 2
    assert type(y) is tt.Tensor
    y.sum().backward()
    assert p.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
@pytest.mark.parametrize("gradient", [True, False])
def test_copies_are_parameters(copier, gradient):
    p = Parameter(tt.tensor([1.0, 2.0]), requires_grad=gradient)
    p.name = "weight"
    q = copier(p)
    assert (
        type(q) is Parameter
        and q.requires_grad == gradient
        and q.tolist() == [1.0, 2.0]
        and q.name == "weight"
    )


def test_shared_parameters_stay_shared():
    p = Parameter(tt.ones(2))
    pair = copy.deepcopy([p, p])
    assert pair[0] is pair[1]
    pair = pickle.loads(pickle.dumps([p, p]))
    assert pair[0] is pair[1]


def test_deepcopy_drops_gradients_and_keeps_attributes_and_shared_memory():
    memory = tt.zeros(4)
    p, q = Parameter(memory[:2]), Parameter(memory[1:3], requires_grad=False)
    p.grad, p.name = tt.ones(2), "weight"
    p.twin = q
    p2, q2 = copy.deepcopy([p, q])
    assert p2.grad is None and p.grad.tolist() == [1.0, 1.0]
    assert p2.name == "weight" and p2.twin is q2 and not q2.requires_grad
    with tt.no_grad():
        p2 += 1
    assert q2.tolist() == [1.0, 0.0] and memory.tolist() == [0.0] * 4


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "jagged", "wrapper", "subclass"])
def test_deepcopy_drops_gradients_of_parameters_of_any_layout(layout):
    if layout == "jagged":
        data = tt.nested.nested_tensor([tt.ones(2), tt.ones(3)], layout=tt.jagged)
    elif layout in ("wrapper", "subclass"):
        plain = tt.ones(2)
        data = Library("tt").wrapper("Wrapper")(plain) if layout == "wrapper" else plain.as_subclass(Labelled)
    else:
        data = tt.eye(3).to_sparse(layout=getattr(tt, layout))
    p = Parameter(data)
    p.grad = p.detach().clone()
    q = copy.deepcopy(p)
    assert isinstance(q, Parameter) and type(q) is type(p) and q.requires_grad and q.layout is p.layout
    assert q.grad is None and p.grad is not None


def test_modules_that_are_copied_have_no_gradients():
    model = tt.nn.Linear(2, 2)
    model(tt.ones(1, 2)).sum().backward()
    assert [p.grad for p in copy.deepcopy(model).parameters()] == [None, None]
    averaged = tt.optim.swa_utils.AveragedModel(model)
    before = [p.tolist() for p in averaged.parameters()]
    tt.optim.SGD(averaged.parameters(), lr=1.0).step()
    assert [p.tolist() for p in averaged.parameters()] == before


def test_subclasses_of_parameter_are_parameters():
    class Scale(Parameter):
        pass

    s = Scale(tt.ones(1))
    assert (
        type(s) is Scale
        and s.requires_grad
        and repr(s) == "Parameter containing:\nParameter(Scale([1.], requires_grad=True))"
    )
