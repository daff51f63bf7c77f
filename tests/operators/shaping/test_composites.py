"""Views of whole tensors: warnings of forms that PyTorch has deprecated, at the line that uses them."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import tt

X = tt.arange(6).reshape(1, 2, 3)
REVERSED = {"a vector": (tt.arange(3), "1 dimension;"), "a batch of matrices": (X, "3 dimensions;")}
OF_A_NUMBER: dict[str, Callable[[tt.Tensor], tt.Tensor]] = {
    ".T": lambda x: x.T,
    ".mT": lambda x: x.mT,
    ".H": lambda x: x.H,
    ".mH": lambda x: x.mH,
    "adjoint()": lambda x: x.adjoint(),
}


@pytest.mark.parametrize("case", REVERSED)
def test_reversing_the_dimensions_of_more_or_less_than_a_matrix_warns(case: str) -> None:
    x, dimensions = REVERSED[case]
    with pytest.warns(UserWarning, match=rf"\.T is for matrices, and the tensor has {dimensions}") as caught:
        found = x.T
    np.testing.assert_array_equal(found.numpy(), x.numpy().T)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("form", OF_A_NUMBER)
def test_transposing_a_number_warns(form: str) -> None:
    with pytest.warns(UserWarning) as caught:
        assert OF_A_NUMBER[form](tt.tensor(2 + 1j)).item() == (2 + 1j if form in (".T", ".mT") else 2 - 1j)
    assert [str(warning.message).partition(" is for")[0] for warning in caught] == [form]
    assert caught[0].filename == __file__


@pytest.mark.torch
def test_torch_warns_of_the_same_tensors() -> None:
    torch = pytest.importorskip("torch")

    def warned(lib, shape: tuple[int, ...], form: str) -> bool:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            OF_A_NUMBER[form](lib.ones(shape))
        return bool(caught)

    switch = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        for shape in ((), (2, 3), (1, 2, 3), (3,)):
            for form in OF_A_NUMBER:
                if (form == ".H" and len(shape) == 3) or (len(shape) == 1 and form != ".T"):
                    continue  # refused by both
                assert warned(tt, shape, form) == warned(torch, shape, form), (shape, form)
    finally:
        torch.set_warn_always(switch)


def test_a_grid_without_its_order_warns() -> None:
    with pytest.warns(UserWarning, match="which is 'ij' if it is left out") as caught:
        rows, columns = tt.meshgrid(tt.arange(2), tt.arange(3))
    assert rows.tolist() == [[0, 0, 0], [1, 1, 1]]
    assert columns.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert [warning.filename for warning in caught] == [__file__]


NOT_VIEWS = {
    "reshape": lambda x: x.t().reshape(-1),
    "flatten": lambda x: x.t().flatten(),
    "reshape_as": lambda x: x.t().reshape_as(tt.ones(6)),
    "expanded": lambda x: x.expand(2, 2, 3).reshape(4, 3),
}


@pytest.mark.parametrize("name", NOT_VIEWS)
def test_a_reshape_that_copies_is_no_view(name: str) -> None:
    for requires_grad in (False, True):
        result = NOT_VIEWS[name](tt.ones(2, 3, requires_grad=requires_grad))
        assert not result._is_view() and result._base is None
    assert tt.ones(2, 3).flatten()._is_view()


def test_a_reshape_that_copies_is_changed_without_its_argument() -> None:
    x = tt.arange(6.0).reshape(2, 3).clone().requires_grad_()
    y = x.t().reshape(-1)
    y.mul_(tt.arange(6.0))
    y.sum().backward()
    assert x.grad.tolist() == [[0, 2, 4], [1, 3, 5]] and x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_tensors_of_one_shape_are_broadcast_to_themselves() -> None:
    x, y, z = tt.ones(2, 3), tt.ones(2, 3, requires_grad=True), tt.ones(1, 3)
    a, b, c = tt.broadcast_tensors(x, y, z)
    assert a is x and b is y and c.shape == (2, 3) and c._base is z
