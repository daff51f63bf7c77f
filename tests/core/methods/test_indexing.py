"""Indexing: NumPy's results, PyTorch's errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tt


def read(x, index, t=tt):
    """Return `x[index]` for an index written in Python; `t` stands for the library of `x`."""
    return eval(f"x[{index}]", {"x": x, "t": t, "tt": tt, "np": np})


def write(x, index, value, t=tt):
    """Do `x[index] = value`, both written in Python."""
    exec(f"x[{index}] = {value}", {"x": x, "t": t, "tt": tt, "np": np})


# --- against NumPy -------------------------------------------------------------------------------------------------


def make(shape):
    array = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    return array, tt.tensor(array)


def as_tt(index):
    """Return an index with tensors in place of arrays."""
    if isinstance(index, tuple):
        return tuple(as_tt(item) for item in index)
    return tt.tensor(index) if isinstance(index, np.ndarray) else index


def negative_step(index):
    items = index if isinstance(index, tuple) else (index,)
    return any(isinstance(item, slice) and item.step is not None and item.step < 0 for item in items)


shapes = hnp.array_shapes(min_dims=1, max_dims=4, max_side=4)


@settings(max_examples=300, deadline=None)
@given(data=st.data(), shape=shapes)
def test_basic_indices_read_views_as_numpy_does(data, shape):
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    array, x = make(shape)
    found = x[index]
    np.testing.assert_array_equal(found.numpy(), array[index])
    if found.numel() and not negative_step(index):
        assert found.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


@st.composite
def mixed_index(draw, shape):
    """Draw a tuple of integers, slices, None, Ellipsis, bools, masks and integer arrays that fits a shape."""
    common = draw(hnp.array_shapes(min_dims=1, max_dims=2, max_side=3))
    items, dim, ellipsis = [], 0, False
    while True:
        kind = draw(
            st.sampled_from(["int", "slice", "none", "ellipsis", "array", "array", "mask", "bool", "stop"])
        )
        if kind == "none":
            items.append(None)
        elif kind == "bool":
            items.append(draw(st.booleans()))
        elif kind == "ellipsis" and not ellipsis and not items:
            ellipsis = True
            items.append(Ellipsis)
            dim = draw(st.integers(dim, len(shape)))
        elif kind == "stop" or dim >= len(shape):
            break
        elif kind == "int":
            items.append(draw(st.integers(-shape[dim], shape[dim] - 1)))
            dim += 1
        elif kind == "slice":
            items.append(draw(st.slices(shape[dim])))
            dim += 1
        elif kind == "array":
            sides = [draw(st.sampled_from([1, side])) for side in common]
            sides = sides[draw(st.integers(0, len(sides) - 1)) :]
            elements = st.integers(-shape[dim], shape[dim] - 1)
            items.append(draw(hnp.arrays(np.int64, tuple(sides), elements=elements)))
            dim += 1
        elif kind == "mask":
            rank = draw(st.integers(1, min(2, len(shape) - dim)))
            items.append(draw(hnp.arrays(np.bool_, shape[dim : dim + rank])))
            dim += rank
        if len(items) > 6:
            break
    if ellipsis and dim < len(shape):
        items += [slice(None)] * (len(shape) - dim)
    return tuple(items)


def without_integers(index):
    """Return an index with slices in place of integers.

    Next to masks and arrays NumPy takes integers as arrays, which moves dimensions; PyTorch always takes them as views.
    """
    return tuple(slice(i, i + 1 or None) if type(i) is int else i for i in index)


@settings(max_examples=500, deadline=None)
@given(data=st.data(), shape=shapes)
def test_mixed_indices_read_as_numpy_does(data, shape):
    index = without_integers(data.draw(mixed_index(shape)))
    array, x = make(shape)
    try:
        expected = array[index]
    except IndexError:
        with pytest.raises(IndexError):
            x[as_tt(index)]
        return
    np.testing.assert_array_equal(x[as_tt(index)].numpy(), expected)
    np.testing.assert_array_equal(x[index].numpy(), expected)


@settings(max_examples=300, deadline=None)
@given(data=st.data(), shape=shapes)
def test_mixed_indices_write_as_numpy_does(data, shape):
    index = without_integers(data.draw(mixed_index(shape)))
    array, x = make(shape)
    try:
        target = array[index].shape
    except IndexError:
        with pytest.raises(IndexError):
            x[as_tt(index)] = 1.0
        return
    sides = tuple(data.draw(st.sampled_from([1, side])) if side else side for side in target)
    value = np.float32(-1) - np.arange(np.prod(sides, dtype=int), dtype=np.float32).reshape(sides)
    # With repeated positions any of the values may stay: one value for all then.
    if any(isinstance(item, np.ndarray) and item.dtype != bool for item in index):
        value = np.full(sides, -5, np.float32)
    array[index] = value
    x[as_tt(index)] = tt.tensor(value)
    np.testing.assert_array_equal(x.numpy(), array)


@pytest.mark.torch
@settings(max_examples=300, deadline=None)
@given(data=st.data(), shape=shapes)
def test_mixed_indices_with_integers_read_as_torch_does(data, shape):
    torch = pytest.importorskip("torch")
    index = data.draw(mixed_index(shape).filter(lambda index: not negative_step(index)))
    array, x = make(shape)
    try:
        expected = torch.from_numpy(array)[
            tuple(torch.from_numpy(i) if isinstance(i, np.ndarray) else i for i in index)
        ]
    except IndexError:
        with pytest.raises(IndexError):
            x[as_tt(index)]
        return
    np.testing.assert_array_equal(x[as_tt(index)].numpy(), expected.numpy())


# --- what an index may be ------------------------------------------------------------------------------------------

INDICES = [
    "0", "-1", "1:2, ::2", "..., 0", "None", "()", "True", "False", "True, 0", "0, True", "[0, 1]", "[0, 1], [1, 2]",
    "[True, False, True]", "[]", "(0, [1, 2])", "range(2)", "(range(2), range(2))", "0, 0, None", "True:2", "0:2**70",
    "[[0], [1]], [0, 1, 2]", "5:1", "-2:", "None, [0, 1], :, None", ":, [0, 1, 1]", "0, [0, 1]", "1:, [0, 1]",
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("index", INDICES)
def test_python_indices_read_and_write_as_torch_does(index):
    torch = pytest.importorskip("torch")
    x, y = tt.arange(12.0).reshape(3, 4), torch.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(read(x, index).numpy(), read(y, index).numpy())
    write(x, index, "-1")
    write(y, index, "-1")
    np.testing.assert_array_equal(x.numpy(), y.numpy())


TENSOR_INDICES = [
    "t.tensor(1)", "t.tensor(True)", "t.tensor(False)", "t.tensor([0, 1], dtype=t.int32)", "x > 5",
    "t.tensor([[0], [1]]), t.tensor([0, 1, 2])", "t.tensor([], dtype=t.int64)", "t.tensor([[0, 1], [2, 0]])",
    ":, t.tensor([True, False, True, True])", "t.tensor(1), t.tensor([0, 1])", "t.tensor([True, False, True]), [0, 1]",
    "t.zeros(0, 2, dtype=t.int64)", "slice(None, t.tensor(2))", "t.tensor(1):",
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("index", TENSOR_INDICES)
def test_tensor_indices_read_and_write_as_torch_does(index):
    torch = pytest.importorskip("torch")
    results = []
    for t in (tt, torch):
        x = t.arange(12.0).reshape(3, 4)
        found = read(x, index, t)
        write(x, index, "-1", t)
        results.append((found.numpy(), x.numpy()))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])


@pytest.mark.torch
@pytest.mark.parametrize(
    "index",
    [
        "[0, 1], :, [0, 1]", "0, :, [0, 1]", ":, [0, 1], [0, 1]", "None, [0, 1], :, [0, 1]", "[0], ..., [0, 1]",
        "True, [0, 1]", "[0, 1], True", ":, True, [0, 1]", ":, [0, 1], None, [0, 1]",
    ],
)  # fmt: skip
def test_separated_indices_come_first_as_in_torch(index):
    torch = pytest.importorskip("torch")
    x, y = tt.arange(24).reshape(2, 3, 4), torch.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(read(x, index).numpy(), read(y, index).numpy())


def test_a_list_of_numbers_stands_for_a_tensor_and_a_list_of_indices_for_a_tuple():
    x = tt.arange(12).reshape(3, 4)
    assert x[[0, 1]].shape == (2, 4)
    for index in ([[0, 1], [1, 2]], [tt.tensor([0, 1]), slice(1, 3)], [None, ..., 0], [[0]]):
        with pytest.warns(UserWarning, match="use a tuple"):
            found = x[index]
        assert found.tolist() == x[tuple(index)].tolist()


@pytest.mark.torch
@pytest.mark.parametrize("index", ["..., ...", "0, ..., ...", "..., 0, ...", "..., None, ...", "..., 0, ..., 0",
                                   "..., :, ..., :", "..., ..., 0", "..., ..., None", "..., [0], ..."])  # fmt: skip
def test_several_ellipses_fit_where_nothing_is_left_for_the_later_ones(index):
    torch = pytest.importorskip("torch")
    items = eval(f"np.s_[{index}]")
    try:
        expected = torch.arange(12).reshape(3, 4)[items]
    except IndexError:
        with pytest.raises(IndexError):
            tt.arange(12).reshape(3, 4)[items]
        return
    assert tt.arange(12).reshape(3, 4)[items].tolist() == expected.tolist()


def test_numpy_scalars_and_arrays_index():
    x = tt.arange(3)
    assert x[np.int64(1)].item() == 1
    with pytest.raises(IndexError, match=r"\(got numpy.bool\)"):
        x[np.bool_(True)]
    assert x[np.array(2)].item() == 2
    assert x[np.array([0, 2], dtype=np.int16)].tolist() == [0, 2]
    assert x[np.array([True, False, True])].tolist() == [0, 2]


def test_uint8_tensors_are_masks_and_deprecated():
    with pytest.warns(UserWarning, match="uint8 is deprecated"):
        assert tt.arange(3)[tt.tensor([0, 1, 1], dtype=tt.uint8)].tolist() == [1, 2]


def test_a_zero_dimensional_tensor_takes_no_dimension():
    x = tt.tensor(3)
    assert x[...].shape == x[()].shape == ()
    assert x[None].shape == x[True].shape == x[tt.tensor(True)].shape == (1,)
    assert x[False].shape == (0,)


# --- slices with a negative step -----------------------------------------------------------------------------------


def test_slices_with_a_negative_step_are_copies():
    x = tt.arange(4)
    found = x[::-1]
    found[0] = 9
    assert x.tolist() == [0, 1, 2, 3] and found.is_contiguous()


def test_assignment_to_a_slice_with_a_negative_step_writes_in_its_order():
    x = tt.zeros(2, 4)
    x[:, 2::-2] = tt.tensor([1.0, 2.0])
    x[1, ::-3] += 5
    assert x.tolist() == [[2.0, 0.0, 1.0, 0.0], [7.0, 0.0, 1.0, 5.0]]
    y = tt.arange(4)
    y[::-1] = y
    assert y.tolist() == [3, 2, 1, 0]


def test_gradients_go_through_slices_with_a_negative_step():
    x, v = tt.arange(3.0).requires_grad_(), tt.ones(2).requires_grad_()
    (x[::-1] * tt.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [3.0, 2.0, 1.0]
    target = tt.zeros(3)
    target[::-2] = v
    (target * tt.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert v.grad.tolist() == [3.0, 1.0]


def test_slices_with_a_negative_step_have_a_shape_on_meta():
    x = tt.zeros(5, 2, device="meta")
    assert x[::-2].shape == (3, 2) and x[1:3:-1].shape == (0, 2)
    x[::-2] = tt.zeros(2, device="meta")


# --- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        ("5", IndexError, "index 5 is out of bounds for dimension 0 with size 3"),
        ("-4", IndexError, "index -4 is out of bounds for dimension 0 with size 3"),
        ("0, 7", IndexError, "index 7 is out of bounds for dimension 1 with size 4"),
        ("2**70", IndexError, "is out of bounds for dimension 0"),
        ("[0, 5]", IndexError, "index 5 is out of bounds for dimension 0 with size 3"),
        ("[0, -4]", IndexError, "index -4 is out of bounds for dimension 0 with size 3"),
        ("0, 0, 0", IndexError, "too many indices: 3 for a tensor of 2 dimensions"),
        ("(slice(None),) * 3", IndexError, "too many indices"),
        ("tt.zeros(2, 2, 2, dtype=tt.bool)", IndexError, "too many indices"),
        ("::0", ValueError, "slice step cannot be zero"),
        (":1.5", TypeError, "slice indices must be integers or None or have an __index__ method"),
        ("'a'", TypeError, r"only integers, slices .* are valid indices \(got str\)"),
        ("1.0", IndexError, r"\(got float\)"),
        ("{1}", IndexError, r"\(got set\)"),
        ("..., ..., 0", IndexError, "several '...'"),
        ("[0, {}]", IndexError, "a tuple, for several dimensions"),
        ("[0.5]", IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
        ("tt.tensor([0.5])", IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
        ("tt.tensor(0.5)", IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
        (
            "tt.tensor([0], dtype=tt.int8)",
            IndexError,
            "tensors used as indices must be long, int, byte or bool",
        ),
        ("tt.tensor([True, False])", IndexError, r"a mask of shape \[2\] does not fit"),
        ("[True, False]", IndexError, r"a mask of shape \[2\] does not fit"),
        ("[0, 1], [0, 1, 2]", IndexError, "index tensors do not broadcast"),
    ],
)
def test_wrong_indices_are_refused_for_reading_and_writing(index, error, message):
    x = tt.arange(12.0).reshape(3, 4)
    with pytest.raises(error, match=message):
        read(x, index)
    with pytest.raises(error, match=message):
        write(x, index, "1")
    np.testing.assert_array_equal(x.numpy(), np.arange(12.0).reshape(3, 4))


def test_a_number_has_no_elements():
    with pytest.raises(
        IndexError, match=r"a tensor without dimensions has nothing to index; item\(\) gives its number"
    ):
        tt.tensor(3)[0]
    with pytest.raises(IndexError, match="too many indices"):
        tt.tensor(3)[:]


# --- assignment ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", ["0", "[0]", "tt.tensor([True, False, False])"])
def test_values_are_broadcast_and_converted(index):
    x = tt.zeros(3, 4)
    write(x, index, "tt.tensor([1.0, 2.0, 3.0, 4.0])")
    assert x[0].tolist() == [1.0, 2.0, 3.0, 4.0]
    write(x, index, "tt.tensor([[[2.5]]])")
    assert x[0].tolist() == [2.5] * 4
    write(x, index, "True")
    assert x[0].tolist() == [1.0] * 4 and x[1:].sum().item() == 0


def test_values_of_another_dtype_are_converted_by_views_and_for_one_value_by_a_mask():
    x = tt.zeros(3, 4)
    write(x, "0", "tt.tensor([1, 2, 3, 4])")
    write(x, "tt.tensor([False, True, False])", "tt.tensor(5)")
    assert x[:2].tolist() == [[1.0, 2.0, 3.0, 4.0], [5.0] * 4]
    for index in ("[0]", "tt.tensor([True, False, False])"):
        with pytest.raises(RuntimeError, match="one dtype"):
            write(x, index, "tt.tensor([1, 2, 3, 4])")


@pytest.mark.parametrize("index", ["0", "[0, 1]", "x > 5"])
def test_values_that_do_not_broadcast_are_refused(index):
    x = tt.arange(12.0).reshape(3, 4)
    with pytest.raises(RuntimeError):
        write(x, index, "tt.ones(5)")
    with pytest.raises(RuntimeError):
        write(x, index, "tt.ones(3, 5, 4)")
    assert x.tolist() == np.arange(12.0).reshape(3, 4).tolist()


@pytest.mark.parametrize("index", ["0", "[0, 1]"])
def test_values_that_are_neither_tensor_nor_number_are_refused(index):
    x = tt.zeros(3, 4)
    for value in ("'a'", "None", "[1, 2, 3, 4]", "np.ones(4)"):
        with pytest.raises(TypeError, match=r"can't assign a \w+ to a tensor of dtype tt\.float32"):
            write(x, index, value)


def test_numbers_that_the_dtype_cannot_hold_are_refused():
    x = tt.zeros(3, dtype=tt.int64)
    x[0] = 2.7
    assert x[0].item() == 2
    for value in (float("nan"), 1j, 1e30):
        with pytest.raises(RuntimeError, match="is beyond the range of int64"):
            x[0] = value
    with pytest.raises(ValueError, match="does not fit into int64"):
        x[0] = 2**70
    y = tt.zeros(2, dtype=tt.complex64)
    y[0], y[[1]] = 1j, 2
    assert y.tolist() == [1j, 2 + 0j]


def test_augmented_assignment_changes_the_indexed_elements():
    x = tt.arange(12.0).reshape(3, 4)
    x[[0, 1]] += 1
    x[x > 5] *= 2
    x[0] -= 1
    expected = np.arange(12.0).reshape(3, 4)
    expected[[0, 1]] += 1
    expected[expected > 5] *= 2
    expected[0] -= 1
    np.testing.assert_array_equal(x.numpy(), expected)


def test_assignment_reaches_through_views_and_advances_the_version():
    x = tt.zeros(3, 4)
    view = x[1:].t()
    version = x._version
    view[0] = 7.0
    view[:, [1]] = 5.0
    view[...] += 1.0
    assert x.tolist() == [[0.0] * 4, [8.0, 1.0, 1.0, 1.0], [6.0] * 4]
    assert x._version == view._version > version


def test_assigning_to_no_element_changes_nothing():
    x = tt.arange(3)
    x[False] = 9
    x[[]] = 9
    x[tt.zeros(3, dtype=tt.bool)] = 9
    x[2:1] = 9
    assert x.tolist() == [0, 1, 2]


def test_gradients_flow_through_reading_and_writing():
    x = tt.arange(6.0).reshape(2, 3).requires_grad_()
    (x[0, 1:] * 2).sum().backward()
    x[[1, 1], [0, 0]].sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 2.0], [2.0, 0.0, 0.0]]
    weight = tt.tensor([3.0], requires_grad=True)
    y = tt.zeros(2, 2)
    y[[0]] = weight
    (y * 2).sum().backward()
    assert weight.grad.tolist() == [4.0]


# --- tensors without values ----------------------------------------------------------------------------------------


def test_meta_tensors_are_indexed_by_shape():
    x = tt.zeros(3, 4, device="meta")
    assert x[1:, None, 0].shape == (2, 1)
    assert x[[0, 1]].shape == (2, 4)
    assert x[tt.zeros(2, 2, dtype=tt.int64, device="meta")].shape == (2, 2, 4)
    assert x[tt.tensor(1, device="meta")].shape == (4,)
    assert x[[True, False, True]].shape == (2, 4)
    with pytest.raises(RuntimeError, match="depends on the values"):
        x[tt.ones(3, dtype=tt.bool, device="meta")]
    x[0] = 1.0
    x[[0, 1]] = tt.ones(4, device="meta")


def test_fake_tensors_on_absent_devices_are_indexed_by_shape():
    from tt.core.layers.fake import to_fake

    x = to_fake(tt.zeros(3, 4, device="meta"), "cuda")
    assert x[1:, None, 0].shape == (2, 1)
    assert x[[0, 1]].shape == x[[True, False, True]].shape == (2, 4)
    assert x[to_fake(tt.zeros((), dtype=tt.int64, device="meta"), "cuda")].shape == (4,)
    assert x[[0, 1]].device.type == "cuda"
    x[0] = 1.0
    x[[0, 1]] = 2.0
    with pytest.raises(RuntimeError, match="depends on the values"):
        x[to_fake(tt.ones(3, dtype=tt.bool, device="meta"), "cuda")]


@pytest.mark.parametrize("dtype", [tt.float16, tt.bfloat16], ids=str)
def test_numbers_beyond_half_precision_are_assigned_as_infinite(dtype):
    x = tt.zeros(4, dtype=dtype)
    x[0] = -1e39
    x[x == 0] = 1e300
    x[3] = 2.5
    assert x.tolist() == [-float("inf"), float("inf"), float("inf"), 2.5]
    with pytest.raises(tt.errors.NumberRangeError):
        tt.zeros(4)[0] = 1e39


def test_an_empty_array_of_eight_bit_floats_is_no_index():
    for dtype in (tt.float8_e5m2, tt.float8_e4m3fn):
        with pytest.raises(IndexError, match="tensors used as indices"):
            tt.zeros(3)[np.zeros(0, dtype.numpy)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex64])
def test_an_empty_array_of_numpy_numbers_selects_nothing(dtype):
    assert tt.zeros(3)[np.zeros(0, dtype)].shape == (0,)


@pytest.mark.parametrize("mask", [tt.zeros(0, dtype=tt.bool), tt.zeros(2, 0, dtype=tt.bool)])
def test_an_empty_mask_has_to_fit_too(mask):
    x = tt.zeros(3, 4)
    with pytest.raises(IndexError, match="mask"):
        x[mask]
    with pytest.raises(IndexError, match="mask"):
        x[mask] = 1.0
    assert tt.zeros(0, 4)[tt.zeros(0, dtype=tt.bool)].shape == (0, 4)


@pytest.mark.torch
@pytest.mark.parametrize("value", ["1j", "0j", "float('nan')", "0.5", "-1", "0"])
def test_a_bool_tensor_takes_whether_any_number_is_not_zero(value):
    torch = pytest.importorskip("torch")
    found, expected = tt.zeros(2, dtype=tt.bool), torch.zeros(2, dtype=torch.bool)
    write(found, "0", value)
    write(expected, "0", value)
    assert found.tolist() == expected.tolist()


# --- a part of the target as the value -----------------------------------------------------------------------------

SPREAD = {
    "itself with another dimension": lambda x, t: x.__setitem__(None, x),
    "an element of a row": lambda x, t: x.__setitem__(0, x[0][2]),
    "the first row": lambda x, t: x.__setitem__(slice(None), x[0]),
    "the second row, of size one": lambda x, t: x.__setitem__(slice(None), x[1:2]),
    "a column": lambda x, t: x.__setitem__(slice(None), x[:, 1:2]),
    "an element everywhere": lambda x, t: x.__setitem__(..., x[1, 1]),
    "an element where a mask says": lambda x, t: x.__setitem__(x > 3, x[2, 2]),
    "neighbours, which are refused": lambda x, t: x.__setitem__(slice(1, None), x[:-1]),
    "the transpose, which is refused": lambda x, t: x.__setitem__(slice(None), x.T),
    "rows at indices, which are refused": lambda x, t: x.__setitem__(t.tensor([0, 1]), x[1:]),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", SPREAD)
def test_a_value_that_is_spread_over_its_own_memory_is_read_before(name):
    torch = pytest.importorskip("torch")

    def outcome(lib):
        x = lib.arange(9.0).reshape(3, 3)
        try:
            SPREAD[name](x, lib)
        except RuntimeError:
            return "refused"
        return x.tolist()

    assert outcome(tt) == outcome(torch)


def test_a_spread_part_of_the_target_has_a_gradient():
    x = tt.arange(4.0).reshape(2, 2).requires_grad_()
    y = x * 1
    y[:] = y[0]
    (y * tt.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert x.grad.tolist() == [[4.0, 6.0], [0.0, 0.0]]
