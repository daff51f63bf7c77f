"""Printing: the same text as PyTorch's, with the name of the package exchanged."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tt
from tt.core.errors import UnknownNameError, ValueRangeError
from tt.core.methods.printing import format_array, get_printoptions

DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


@pytest.fixture(autouse=True)
def default_options():
    yield
    tt.set_printoptions(profile="default")


def reference(array, **options):
    """Return what torch prints for the same array."""
    torch = pytest.importorskip("torch")
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**options)
    try:
        return repr(torch.from_numpy(array)).replace("torch.", "tt.")
    finally:
        torch.set_printoptions(profile="default")


def check(array, **options):
    with tt.printoptions(**options):
        found = repr(tt.tensor(array))
    # Where the dtype is put on a new line depends on the length of the package's name.
    assert re.sub(r",\s+dtype=", ", dtype=", found) == re.sub(
        r",\s+dtype=", ", dtype=", reference(array, **options)
    )


# --- values ----------------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize(
    "values",
    [
        [1.0, 2.0],
        [1.5, -2.25],
        [0.0, -0.0],
        [math.nan, 1.0],
        [math.inf, -math.inf, 0.5],
        [math.nan, math.inf],
        [1e-5, 1.0],
        [1e8, 1.0],
        [1e9],
        [1234567.0, 0.5],
        [[1.0], [1000.5]],
        [],
        [[], []],
        3.5,
        1e-10,
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_floats_print_as_torch_prints_them(values, dtype):
    with np.errstate(over="ignore"):
        check(np.array(values, dtype=dtype))


@pytest.mark.torch
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 2), (2, 3), (2, 1, 3), (1001,), (40, 40), (3, 2, 200)])
def test_every_dtype_and_shape_prints_as_torch_prints_it(dtype, shape):
    check(np.asarray(np.arange(math.prod(shape)).reshape(shape) % 100, dtype=dtype))


@pytest.mark.torch
def test_bfloat16_prints_as_torch_prints_it():
    torch = pytest.importorskip("torch")
    values = [1.0, 0.5, 3.1415926, 100.0]
    expected = repr(torch.tensor(values, dtype=torch.bfloat16)).replace("torch.", "tt.")
    assert repr(tt.tensor(values, dtype=tt.bfloat16)) == expected


numbers = st.one_of(
    st.floats(width=32),
    st.integers(-(10**6), 10**6).map(float),
    st.sampled_from([0.0, -0.0, 1e8, 1e-4, 1e4, 0.5, math.inf, math.nan]),
)


@pytest.mark.torch
@settings(max_examples=200, deadline=None)
@given(
    array=hnp.arrays(np.float32, hnp.array_shapes(min_dims=0, max_dims=4, max_side=5), elements=numbers),
    dtype=st.sampled_from(["float16", "float32", "float64", "complex64"]),
    precision=st.integers(0, 7),
    threshold=st.sampled_from([0, 5, 20, 1000]),
    edgeitems=st.integers(1, 4),
    linewidth=st.sampled_from([20, 40, 80, 120]),
    sci_mode=st.sampled_from([None, True, False]),
)
def test_random_arrays_with_random_options_print_as_torch_prints_them(array, dtype, **options):
    with np.errstate(over="ignore"):
        check(array.astype(dtype), **options)


@pytest.mark.torch
@settings(max_examples=100, deadline=None)
@given(
    array=hnp.arrays(
        st.sampled_from(["bool", "uint8", "int8", "int16", "int32", "int64"]),
        hnp.array_shapes(min_dims=0, max_dims=4, max_side=5),
    ),
    threshold=st.sampled_from([0, 5, 1000]),
    linewidth=st.sampled_from([20, 80]),
)
def test_random_integers_print_as_torch_prints_them(array, **options):
    check(array, **options)


@pytest.mark.torch
def test_no_edge_items_prints_the_size_instead():
    check(np.arange(2000.0), edgeitems=0)
    check(np.arange(2000.0).reshape(20, 100), edgeitems=0)


def test_format_array_indents_continued_lines():
    assert format_array(np.array([[1, 2], [3, 4]]), indent=2) == "[[1, 2],\n   [3, 4]]"


# --- suffixes --------------------------------------------------------------------------------------------------


def test_the_dtype_is_shown_unless_it_is_a_default():
    assert repr(tt.tensor([1])) == "tensor([1])"
    assert repr(tt.tensor([True])) == "tensor([True])"
    assert repr(tt.tensor([1.0], dtype=tt.float64)) == "tensor([1.], dtype=tt.float64)"
    with tt.default_dtype(tt.float64):
        assert repr(tt.tensor([1.0])) == "tensor([1.])"
        assert repr(tt.tensor([1.0], dtype=tt.float32)) == "tensor([1.], dtype=tt.float32)"


def test_an_empty_tensor_shows_its_size_and_dtype():
    assert repr(tt.tensor([])) == "tensor([])"
    assert repr(tt.tensor([], dtype=tt.int64)) == "tensor([], dtype=tt.int64)"
    assert repr(tt.tensor([[]])) == "tensor([], size=(1, 0))"


def test_meta_tensors_show_what_they_are():
    assert repr(tt.zeros(2, 3, device="meta")) == "tensor(..., device='meta', size=(2, 3))"
    expected = "tensor(..., device='meta', size=(2,), dtype=tt.int64)"
    assert repr(tt.zeros(2, dtype=tt.int64, device="meta")) == expected


def test_long_suffixes_go_to_a_new_line():
    x = tt.tensor(np.linspace(1, 2, 7))
    assert repr(x).splitlines()[1] == "       dtype=tt.float64)"


def test_gradients_are_shown():
    leaf = tt.tensor([1.0, 2.0], requires_grad=True)
    assert repr(leaf) == "tensor([1., 2.], requires_grad=True)"
    assert repr(leaf + 1) == "tensor([2., 3.], grad_fn=<AddBackward0>)"


def test_a_view_whose_history_is_undefined_is_printed():
    leaf = tt.ones(1, requires_grad=True)
    with tt.no_grad():
        view = leaf[:]
        view *= 2
    assert repr(view) == str(view) == "tensor([2.], grad_fn=<Invalid>)"
    with pytest.raises(RuntimeError, match="no_grad"):
        view.grad_fn  # noqa: B018


def test_a_subclass_shows_its_name():
    class Image(tt.Tensor):
        pass

    assert repr(tt.tensor([1, 2]).as_subclass(Image)) == "Image([1, 2])"


def test_str_and_format_are_repr():
    x = tt.tensor([1.5, 2.0])
    assert str(x) == f"{x}" == repr(x)


# --- options ---------------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize("profile", ["default", "short", "full"])
def test_profiles_are_those_of_torch(profile):
    check(np.arange(1200) / 7, profile=profile)


def test_printoptions_restores_what_was_set_before():
    tt.set_printoptions(precision=2, sci_mode=True)
    before = get_printoptions()
    with tt.printoptions(precision=6):
        assert get_printoptions()["precision"] == 6
    assert get_printoptions() == before


def test_options_that_are_none_stay_as_they_are_but_sci_mode_is_set():
    tt.set_printoptions(precision=2, sci_mode=True)
    tt.set_printoptions(linewidth=100)
    assert get_printoptions() == {
        "precision": 2, "threshold": 1000, "edgeitems": 3, "linewidth": 100, "sci_mode": None,
    }  # fmt: skip


def test_wrong_options_are_refused_and_change_nothing():
    before = get_printoptions()
    with pytest.raises(UnknownNameError, match="unknown profile 'ful'; did you mean 'full'"):
        tt.set_printoptions(profile="ful")
    with pytest.raises(ValueRangeError, match="precision must be an int"):
        tt.set_printoptions(precision=-1)
    with pytest.raises(ValueRangeError, match="threshold must be a number"):
        tt.set_printoptions(threshold="many")
    with pytest.raises(ValueRangeError, match="sci_mode"):
        tt.set_printoptions(sci_mode="yes")
    assert get_printoptions() == before


# --- fake and sparse tensors -------------------------------------------------------------------------------------


def test_fake_tensors_show_what_they_are():
    from tt.core.layers.fake import to_fake

    x = tt.zeros(2, 3, device="meta")
    assert repr(to_fake(x, "cpu")) == "FakeTensor(..., size=(2, 3))"
    assert repr(to_fake(x, "cuda")) == "FakeTensor(..., device='cuda', size=(2, 3))"


@pytest.mark.torch
def test_sparse_tensors_show_their_parts_as_in_torch():
    torch = pytest.importorskip("torch")
    indices, values = [[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.5]
    expected = repr(torch.sparse_coo_tensor(indices, values, (2, 3), check_invariants=False))
    found = repr(tt.sparse_coo_tensor(tt.tensor(indices), tt.tensor(values), (2, 3)))
    assert found == expected.replace("torch.", "tt.")
