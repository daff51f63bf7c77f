"""MaskedTensor does to the elements that count what PyTorch's does, and masks results as it does."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import tt
import tt.nn.functional as F
from tt.masked import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

DATA = np.array([[0.5, -1.0, 2.0], [3.0, 4.0, 5.5]])
MASK = np.array([[True, False, True], [False, False, True]])


def make(library=tt, data=DATA, mask=MASK, **options):
    module = tt.masked if library is tt else __import__("torch").masked
    return module.masked_tensor(library.tensor(data), library.tensor(mask), **options)


def shown(found):
    """Return the elements of a result of either library as nested lists, with None for masked ones."""
    if isinstance(found, tuple | list):
        return [shown(part) for part in found]
    data, mask = found.get_data().detach().numpy(), found.get_mask().numpy()
    return np.where(mask, data.astype(object), None).tolist()


# --- against PyTorch -------------------------------------------------------------------------------------------------

SAME = {
    "abs": lambda lib, x: x.abs(),
    "neg": lambda lib, x: -x,
    "exp": lambda lib, x: x.exp(),
    "ceil": lambda lib, x: x.ceil(),
    "sqrt": lambda lib, x: (x * x).sqrt(),
    "sigmoid": lambda lib, x: x.sigmoid(),
    "isnan": lambda lib, x: x.isnan(),
    "clamp": lambda lib, x: x.clamp(0, 2),
    "pow": lambda lib, x: x**2,
    "itself": lambda lib, x: x + x,
    "number": lambda lib, x: x * 3 - 1,
    "tensor": lambda lib, x: x + lib.tensor(DATA),
    "tensor first": lambda lib, x: lib.tensor(DATA) * x,
    "div": lambda lib, x: x / x,
    "maximum": lambda lib, x: lib.maximum(x, -x),
    "atan2": lambda lib, x: lib.atan2(x, x),
    "eq": lambda lib, x: x == x,
    "lt": lambda lib, x: x < 2,
    "in place": lambda lib, x: x.clone().add_(x),
    "exp in place": lambda lib, x: x.clone().exp_(),
    "where": lambda lib, x: lib.where(lib.tensor(MASK), x, make(lib, DATA, ~MASK)),
    "ones_like": lambda lib, x: lib.ones_like(x),
    "sum": lambda lib, x: x.sum(),
    "sum dim": lambda lib, x: x.sum(1),
    "sum keepdim": lambda lib, x: x.sum(0, keepdim=True),
    "sum dims": lambda lib, x: x.sum((0, 1)),
    "mean": lambda lib, x: x.mean(),
    "mean dim": lambda lib, x: x.mean(1),
    "prod dim": lambda lib, x: x.prod(1),
    "amax": lambda lib, x: x.amax(0),
    "amin": lambda lib, x: lib.amin(x),
    "argmax": lambda lib, x: x.argmax(1),
    "argmin": lambda lib, x: x.argmin(),
    "all": lambda lib, x: (x > 0).all(1),
    "all everything": lambda lib, x: (x > 0).all(),
    "var": lambda lib, x: x.var(),
    "std dim": lambda lib, x: x.std(0),
    "softmax": lambda lib, x: x.softmax(1),
    "row": lambda lib, x: x[0],
    "columns": lambda lib, x: x[:, 1:],
    "by mask": lambda lib, x: x[lib.tensor(MASK)],
    "by numbers": lambda lib, x: x[lib.tensor([1, 0, 1])],
    "select": lambda lib, x: x.select(0, 1),
    "t": lambda lib, x: x.t(),
    "transpose": lambda lib, x: x.transpose(0, 1),
    "reshape": lambda lib, x: x.reshape(3, 2),
    "view": lambda lib, x: x.view(-1),
    "expand": lambda lib, x: x[:1].expand(2, 3),
    "unsqueeze": lambda lib, x: x.unsqueeze(0),
    "unfold": lambda lib, x: x.unfold(1, 2, 1),
    "cat": lambda lib, x: lib.cat([x, x]),
    "stack": lambda lib, x: lib.stack([x, x]),
    "split": lambda lib, x: list(x.split(1)),
    "chunk": lambda lib, x: list(x.chunk(2)),
    "clone": lambda lib, x: x.clone(),
    "detach": lambda lib, x: x.detach(),
    "contiguous": lambda lib, x: x.t().contiguous(),
    "to": lambda lib, x: x.to(lib.float32),
}


@pytest.fixture
def torch():
    found = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a feature that is a prototype there
        yield found


@pytest.mark.torch
@pytest.mark.parametrize("name", SAME)
def test_a_function_agrees_with_pytorch(torch, name):
    ours, theirs = shown(SAME[name](tt, make())), shown(SAME[name](torch, make(torch)))
    for one, other in zip(np.ravel(np.array(ours, object)), np.ravel(np.array(theirs, object)), strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert one == pytest.approx(other, nan_ok=True)


@pytest.mark.torch
@pytest.mark.parametrize(
    "name", ["sum", "mean dim", "prod dim", "amax", "pow", "softmax", "itself", "tensor"]
)
def test_gradients_agree_with_pytorch(torch, name):
    found = []
    for library in (tt, torch):
        x = make(library, requires_grad=True)
        SAME[name](library, x).sum().backward()
        found.append(shown(x.grad))
    for one, other in zip(
        np.ravel(np.array(found[0], object)), np.ravel(np.array(found[1], object)), strict=True
    ):
        assert (one is None) == (other is None)
        assert one is None or one == pytest.approx(other)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("data", "mask"),
    [
        (DATA, MASK),
        (DATA[0], MASK[0]),
        (np.arange(3), np.array([True, False, True])),
        (np.array([True, False]), np.array([True, False])),
        (np.arange(8.0).reshape(2, 2, 2), np.arange(8).reshape(2, 2, 2) % 3 > 0),
        (np.array([1e6, -2e7]), np.array([True, False])),
        (np.array(1.5), np.array(True)),
        (np.array(1.5), np.array(False)),
    ],
)
def test_repr_is_pytorchs(torch, data, mask):
    assert repr(make(tt, data, mask)) == repr(make(torch, data, mask))


# --- alone -----------------------------------------------------------------------------------------------------------


def test_parts_are_copies_and_can_be_read():
    data, mask = tt.tensor(DATA), tt.tensor(MASK)
    x = masked_tensor(data, mask)
    data.zero_()
    assert tt.equal(x.get_data(), tt.tensor(DATA))
    assert tt.equal(x.get_mask(), tt.tensor(MASK))
    assert tt.equal(x.to_tensor(-1), tt.tensor(np.where(MASK, DATA, -1)))
    assert is_masked_tensor(x)
    assert (x.shape, x.dtype, x.ndim, len(x), x.numel()) == (tt.Size([2, 3]), tt.float64, 2, 2, 6)
    assert x.tolist() == [[0.5, None, 2.0], [None, None, 5.5]]


@pytest.mark.parametrize("name", ["sort", "logcumsumexp", "matmul", "numpy", "to_sparse", "nonzero"])
def test_a_function_that_is_not_for_masked_tensors_says_what_to_do(name):
    x = make()
    with pytest.raises(TypeError, match=r"masked tensors have no such function[\s\S]*x.to_tensor\(value\)"):
        getattr(x, name)(*([x.T] if name == "matmul" else []))
    with pytest.raises(TypeError, match="masked tensors have no such function"):
        x[0] = 1


def test_functions_along_a_dimension():
    assert make().cumsum(1).tolist() == [[0.5, None, 2.5], [None, None, 5.5]]
    assert make().softmax(1).sum(1).tolist() == pytest.approx([1.0, 1.0])


def test_further_functions():
    x = make()
    assert (2 - x).tolist() == [[1.5, None, 0.0], [None, None, -3.5]]
    assert x.median().item() == 2.0
    assert x.norm().item() == pytest.approx((0.25 + 4 + 5.5**2) ** 0.5)
    assert (x > 3).any().item() is True
    assert x.max(1)[1].tolist() == [2, 2]
    assert x.min().item() == 0.5
    assert F.gelu(x).get_mask().tolist() == MASK.tolist()
    assert x.T.tolist() == [[0.5, None], [None, None], [2.0, 5.5]]
    assert [row.tolist() for row in x] == [[0.5, None, 2.0], [None, None, 5.5]]
    assert x.flip(0).tolist()[0] == [None, None, 5.5]
    assert x.float().dtype is tt.float32
    assert make(mask=np.zeros_like(MASK)).sum(1).tolist() == [None, None]


def test_masks_must_agree():
    with pytest.raises(ValueError, match="Input masks must match"):
        make() + make(mask=~MASK)
    with pytest.raises(tt.errors.InplaceError, match="does not take masked elements"):
        tt.tensor(DATA).add_(make())


@pytest.mark.parametrize(
    ("data", "mask", "error", "match"),
    [
        ([1.0], tt.tensor([True]), TypeError, "data must be a Tensor"),
        (tt.ones(1), [True], TypeError, "mask must be a Tensor"),
        (tt.ones(1), tt.ones(1), TypeError, "mask must have dtype bool"),
        (tt.ones(2), tt.ones(1) > 0, tt.errors.ShapeError, r"data.size\(\) must equal mask.size\(\)"),
        (tt.eye(2).to_sparse(), tt.eye(2) > 0, tt.errors.LayoutError, "to_dense"),
        (masked_tensor(tt.ones(1), tt.ones(1) > 0), tt.ones(1) > 0, TypeError, "data must be a Tensor"),
    ],
)
def test_what_does_not_fit_is_refused(data, mask, error, match):
    with pytest.raises(error, match=match):
        masked_tensor(data, mask)


def test_a_masked_element_is_no_number():
    x = make()
    with pytest.raises(ValueError, match="the element is masked"):
        x[0, 1].item()
    assert (float(x[0, 0]), bool(x[0, 0])) == (0.5, True)


def test_gradients_of_masked_elements_are_masked_and_do_not_spoil_others():
    # The derivative of the square root is infinite at 0, and 0 * inf is NaN.
    x = masked_tensor(tt.tensor([0.0, 4.0]), tt.tensor([False, True]), requires_grad=True)
    x.sqrt().sum().backward()
    assert x.grad.tolist() == [None, 0.25]
    plain = tt.tensor([0.0, 4.0], requires_grad=True)
    as_masked_tensor(plain, tt.tensor([False, True])).sqrt().sum().backward()
    assert plain.grad.tolist() == [0.0, 0.25]


def test_gradients_flow_through_get_data_and_to_tensor():
    x = tt.tensor(DATA, requires_grad=True)
    (as_masked_tensor(x, tt.tensor(MASK)) * 2).to_tensor(7.0).sum().backward()
    assert x.grad.tolist() == np.where(MASK, 2.0, 0.0).tolist()


def test_a_tensor_with_a_gradient_is_a_leaf_and_takes_steps():
    x = make(requires_grad=True)
    assert x.is_leaf and x.requires_grad and x.grad is None
    (x * x).backward(tt.ones(2, 3, dtype=tt.float64))
    assert x.grad.tolist() == [[1.0, None, 4.0], [None, None, 11.0]]
    assert not x.detach().requires_grad
    assert (x * x).grad_fn is not None


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_keep_data_mask_and_gradients(copied):
    x = make(requires_grad=True)
    new = copied(x)
    assert isinstance(new, MaskedTensor)
    assert (new.tolist(), new.requires_grad) == (x.tolist(), True)


def test_long_tensors_are_abbreviated():
    text = repr(masked_tensor(tt.arange(2000), tt.arange(2000) % 2 > 0))
    assert text == "MaskedTensor(\n  [      --, 1,       --, ..., 1997,       --, 1999]\n)"
    assert repr(masked_tensor(tt.ones(0), tt.ones(0) > 0)) == "MaskedTensor(\n  []\n)"
