"""`tt.Tensor(...)`: sizes, data or nothing, as PyTorch's first constructor takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tt.core.library import TensorBase


def test_data_becomes_a_tensor_of_the_default_dtype() -> None:
    for data in ([1, 2], (1, 2), np.array([1, 2]), range(1, 3)):
        made = tt.Tensor(data)
        assert type(made) is tt.Tensor and made.dtype is tt.float32 and made.tolist() == [1.0, 2.0]
    assert tt.Tensor(data=[True, 2.5]).tolist() == [1.0, 2.5]
    with tt.default_dtype(tt.float64):
        assert tt.Tensor([1]).dtype is tt.Tensor(2).dtype is tt.Tensor().dtype is tt.float64


def test_integers_are_sizes() -> None:
    assert tt.Tensor().shape == (0,)
    assert tt.Tensor(3).shape == tt.Tensor(np.int64(3)).shape == (3,)
    assert tt.Tensor(2, 0, 3).shape == tt.Tensor(tt.Size([2, 0, 3])).shape == (2, 0, 3)
    assert tt.Tensor(tt.Size([])).shape == ()


def test_a_tensor_is_shared_with_its_dtype_and_history() -> None:
    x = tt.tensor([1, 2])
    other = tt.Tensor(x)
    other[0] = 5
    assert other.dtype is tt.int64 and x.tolist() == [5, 2] and other is not x
    y = tt.ones(2, requires_grad=True)
    tt.Tensor(y).sum().backward()
    assert y.grad is not None and y.grad.tolist() == [1.0, 1.0]


def test_the_device_is_that_of_the_argument() -> None:
    assert tt.Tensor([1, 2], device="meta").is_meta and tt.Tensor(2, 3, device="meta").shape == (2, 3)


def test_subclasses_are_made_by_the_same_arguments() -> None:
    class Image(tt.Tensor):
        pass

    class Named(tt.Tensor):
        def __new__(cls, data: Any, name: str) -> Any:
            return super().__new__(cls, data)

        def __init__(self, data: Any, name: str) -> None:
            self.name = name

    assert type(Image([1, 2])) is Image and Image([1, 2]).tolist() == [1.0, 2.0]
    assert type(Image(2, 2)) is Image and type(Image()) is Image and type(Image([1]) + 1) is Image
    named = Named([1, 2], "pair")
    assert type(named) is Named and named.name == "pair" and (named + 1).tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("args", "error", "text"),
    [
        ((3.0,), TypeError, r"Tensor\(\): data must be a sequence \(got float\)"),
        ((None,), TypeError, r"data must be a sequence \(got NoneType\)"),
        ((True,), TypeError, r"data must be a sequence \(got bool\)"),
        (("ab",), TypeError, r"data must be a sequence \(got str\)"),
        (({1: 2},), TypeError, r"data must be a sequence \(got dict\)"),
        ((2, 3.0), TypeError, r"sizes are integers \(got float\)"),
        (([1], [2]), TypeError, r"sizes are integers \(got list\)"),
        ((-1,), RuntimeError, "the size -1 at position 0"),
        (([[1, 2], [3]],), ValueError, "differ in length: 2 and 1"),
    ],
)
def test_what_is_neither_sizes_nor_data_is_refused(args: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        tt.Tensor(*args)


def test_unknown_keywords_are_refused() -> None:
    wrong: Any = {"shape": 1}
    with pytest.raises(TypeError, match="unexpected keyword argument 'shape'"):
        tt.Tensor(**wrong)


@pytest.mark.torch
@pytest.mark.parametrize(
    "args",
    [
        (),
        (2, 3),
        ([1, 2],),
        ((2, 3),),
        ([[1.5], [2]],),
        (3.0,),
        (None,),
        (True,),
        ("ab",),
        (2, 3.0),
        ([1], [2]),
    ],
)
def test_torch_takes_and_refuses_the_same(args: tuple[Any, ...]) -> None:
    torch = pytest.importorskip("torch")
    try:
        expected = torch.Tensor(*args)
    except TypeError:
        with pytest.raises(TypeError):
            tt.Tensor(*args)
        return
    made = tt.Tensor(*args)
    assert tuple(made.shape) == tuple(expected.shape) and str(made.dtype)[3:] == str(expected.dtype)[6:]
    if any(isinstance(value, list | tuple) for value in args):
        assert made.tolist() == expected.tolist()


def test_an_instance_that_no_constructor_filled_raises_and_never_crashes() -> None:
    blank: Any = TensorBase.__new__(tt.Tensor)
    for use in (
        lambda: blank.dtype, lambda: blank.shape, lambda: blank + 1, lambda: tt.cat([blank]), lambda: blank[0],
        lambda: blank.add_(1), lambda: blank.detach(), lambda: blank._ensure_storage(), lambda: repr(blank),
    ):  # fmt: skip
        with pytest.raises(AttributeError):
            use()


def test_new_makes_tensors_of_the_same_dtype() -> None:
    x = tt.zeros(1, dtype=tt.float64)
    assert x.new([1, 2]).dtype == x.new(3).dtype == tt.float64
    assert x.new(2, 3).shape == (2, 3) and x.new().shape == (0,)
    assert x.new(x).data_ptr() == x.data_ptr()


@pytest.mark.parametrize("data", [2.5, tt.arange(2)])
def test_new_takes_sizes_or_data_of_the_same_dtype(data: Any) -> None:
    with pytest.raises(TypeError):
        tt.zeros(1).new(data)


def test_new_takes_its_sizes_by_name() -> None:
    assert tt.ones(2).new(size=(2, 3)).shape == (2, 3)
    assert tt.ones(2, dtype=tt.int64).new(size=[1]).dtype is tt.int64
    with pytest.raises(TypeError, match="not both"):
        tt.ones(2).new([1], size=(1,))


@pytest.mark.torch
@pytest.mark.parametrize(
    "make",
    [
        lambda library, x: library.Tensor(x, device="cpu"),
        lambda library, x: library.FloatTensor(x, device="cpu"),
        lambda library, x: x.new(x, device="cpu"),
    ],
)
def test_a_tensor_goes_without_a_device(make: Any) -> None:
    import torch

    for library in (tt, torch):
        with pytest.raises(RuntimeError, match=r"device"):
            make(library, library.ones(1))


@pytest.mark.parametrize("name", ["FloatTensor", "LongTensor", "sparse.FloatTensor"])
def test_types_of_a_dtype_have_no_subclasses(name: str) -> None:
    base: Any = tt
    for part in name.split("."):
        base = getattr(base, part)
    with pytest.raises(TypeError, match=f"type 'tt.{name}' is not an acceptable base type"):
        type("Mine", (base,), {})
