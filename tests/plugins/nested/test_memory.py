"""The memory of jagged tensors: versions that they share with their values, and views with their histories."""

from __future__ import annotations

import pytest

import tt
from tt.errors import InplaceError, SavedTensorError

OFFSETS = tt.tensor([0, 2, 5])


def jagged(gradient=False):
    return tt.nested.nested_tensor([tt.ones(2), tt.full((3,), 2.0)], layout=tt.jagged, requires_grad=gradient)


def over(values):
    return tt.nested.nested_tensor_from_jagged(values, OFFSETS)


IN_PLACE = {
    "zero_": lambda x: x.zero_(),
    "add_": lambda x: x.add_(1),
    "mul_ by another": lambda x: x.mul_(x.detach().clone()),
    "exp_": lambda x: x.exp_(),
    "fill_": lambda x: x.fill_(3.0),
    "copy_": lambda x: x.copy_(x.detach().clone()),
    "masked_fill_": lambda x: x.masked_fill_(x > 1, 0.0),
    "normal_": lambda x: x.normal_(),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_a_change_is_one_version_of_the_tensor_and_of_its_values(name):
    values = tt.ones(5)
    x = over(values)
    IN_PLACE[name](x)
    assert x._version == x.values()._version == values._version == x.detach()._version == 1


@pytest.mark.parametrize(
    "change",
    [lambda x: x.zero_(), lambda x: x.values().zero_(), lambda x: x.values()[1:].mul_(2),
     lambda x: x.unbind()[1].fill_(0), lambda x: x.detach().zero_()],
    ids=["itself", "values", "a part", "a row", "detached"],
)  # fmt: skip
def test_a_change_of_saved_values_is_noticed(change):
    x = jagged(True)
    y = x * x
    with tt.no_grad():
        change(x)
    with pytest.raises(SavedTensorError):
        y.values().sum().backward()


def test_a_change_of_the_values_that_a_tensor_was_made_of_is_noticed():
    leaf = tt.ones(5, requires_grad=True)
    values = leaf * 2
    y = over(values).exp()
    z = over(values) * y
    with tt.no_grad():
        values.zero_()
    with pytest.raises(SavedTensorError):
        z.values().sum().backward()


def through(change, result):
    """Return the gradients of a jagged program, and of the same one on strided values."""
    found = []
    for wrap, of in ((over, lambda x: x.values()), (lambda v: v, lambda x: x)):
        leaf = tt.tensor([1.0, 2, 3, 4, 5], requires_grad=True)
        y = wrap(leaf * 1)
        values = of(y)
        change(y, values)
        result(y, values, of).backward()
        found.append(leaf.grad.tolist())
    return found


@pytest.mark.parametrize(
    "change",
    [lambda y, v: v.mul_(3), lambda y, v: v[:2].mul_(3), lambda y, v: y.mul_(3), lambda y, v: y.exp_(),
     lambda y, v: v.view(5, 1).sin_(), lambda y, v: (v.mul_(2), y.add_(1), v[1:3].zero_())],
    ids=["values", "a part", "itself", "exp_", "a view of the values", "several"],
)  # fmt: skip
@pytest.mark.parametrize(
    "result",
    [lambda y, v, of: of(y).sum(), lambda y, v, of: v.sum(), lambda y, v, of: of(y * y).sum() + v.sum()],
    ids=["itself", "values", "both"],
)
def test_changes_through_values_are_in_the_history(change, result):
    jagged_gradient, strided_gradient = through(change, result)
    assert jagged_gradient == pytest.approx(strided_gradient)


def test_a_tensor_over_values_is_a_view_of_them():
    leaf = tt.ones(5, requires_grad=True)
    values = leaf * 1
    x = over(values)
    assert x._is_view() and x.values()._is_view()
    x.mul_(3)
    values.sum().backward()
    assert leaf.grad.tolist() == [3.0] * 5
    assert not (x * 2)._is_view() and not jagged()._is_view()


FACTOR = tt.tensor([1.0, 2, 3, 4, 5])

LATER = {
    "values of a changed tensor": lambda w, x, p: (x.mul_(over(p)), w)[1],
    "a changed tensor": lambda w, x, p: (w.mul_(p), x.values())[1],
    "a tensor over changed values": lambda w, x, p: (x.values().mul_(p), w)[1],
    "values taken before": lambda w, x, p: (v := x.values(), w.mul_(p), v)[2],
}


@pytest.mark.parametrize("name", LATER)
def test_a_view_made_before_the_history_takes_part_in_it(name):
    factor = FACTOR.clone().requires_grad_()
    values = tt.full((5,), 2.0)
    result = LATER[name](values, over(values), factor)
    (result * result).sum().backward()
    assert factor.grad.tolist() == [8.0, 16, 24, 32, 40]


@pytest.mark.parametrize(
    "use",
    [lambda x, v, w: (x.mul_(w), v.sum()), lambda x, v, w: v.mul_(w.values()[1:3])],
    ids=["the tensor is changed", "the part is changed"],
)
def test_a_part_of_the_values_whose_base_got_its_history_later_is_refused(use):
    x = jagged()
    with pytest.raises(InplaceError, match="of another layout"):
        use(x, x.values()[1:3], jagged(True))


def test_a_leaf_is_not_changed_through_its_values():
    x = jagged(True)
    with pytest.raises(InplaceError, match="view of a leaf"):
        x.values().mul_(2)
    with tt.no_grad():
        x.values().mul_(2)
    assert x.detach().values().tolist() == [2.0, 2.0, 4.0, 4.0, 4.0]


def test_second_derivatives_go_through_jagged_tensors():
    leaf = tt.tensor([1.0, 2, 3, 4, 5], requires_grad=True)
    (first,) = tt.autograd.grad((over(leaf) ** 3).values().sum(), leaf, create_graph=True)
    (second,) = tt.autograd.grad(first.sum(), leaf)
    assert second.tolist() == [6.0, 12, 18, 24, 30]
