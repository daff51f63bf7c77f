"""Shaping, indexing and joining sparse tensors: as dense tensors do it, and as PyTorch where that can."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tests.plugins.sparse.pairs import LAYOUTS, MATRIX, ours, random_matrix, same, theirs, torch
from tt.errors import IndexValueError, LayoutError, NoKernelError, ShapeError

pytestmark = pytest.mark.torch

COMPRESSED = LAYOUTS[1:]


@pytest.fixture(autouse=True)
def quiet_torch():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def dense_of(tensor) -> np.ndarray:
    return tensor.to_dense().numpy()


def hybrid(values=None, coalesced=False):
    """Return coordinates that repeat, with one dense dimension: in tt and in PyTorch."""
    indices = [[0, 2, 0], [1, 0, 1]] if not coalesced else [[0, 0, 2], [0, 1, 0]]
    found = np.arange(6, dtype=np.float32).reshape(3, 2).tolist() if values is None else values
    return tt.sparse_coo_tensor(indices, found, (3, 4, 2)), torch.sparse_coo_tensor(indices, found, (3, 4, 2))


# --- side by side with PyTorch -------------------------------------------------------------------------------------

BOTH = {
    "select a row": lambda lib, x: x[1],
    "select a row from the end": lambda lib, x: x[-2],
    "select a column": lambda lib, x: x[:, 3],
    "select an element": lambda lib, x: x[0, 3],
    "ellipsis": lambda lib, x: x[..., 0],
    "t": lambda lib, x: x.t(),
    "transpose": lambda lib, x: x.transpose(0, 1),
    "mT": lambda lib, x: x.mT,
    "swapaxes": lambda lib, x: x.swapaxes(0, 1),
    "unbind": lambda lib, x: x.unbind()[2],
    "iterate": lambda lib, x: list(x)[3],
    "len": lambda lib, x: len(x),
    "is_same_size": lambda lib, x: x.is_same_size(x),
    "numel": lambda lib, x: x.numel(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("call", BOTH.values(), ids=BOTH)
def test_what_pytorch_does_with_a_layout_is_the_same_here(layout, call):
    if layout in ("sparse_bsr", "sparse_bsc"):
        try:
            expected = call(torch, theirs(layout))
        except RuntimeError:  # PyTorch does not select rows among blocks
            found, expected = call(tt, ours(layout)), call(torch, theirs("sparse_coo"))
            pairs = zip(found, expected, strict=True) if isinstance(found, list) else [(found, expected)]
            for one, other in pairs:
                np.testing.assert_array_equal(dense_of(one), other.to_dense().numpy())
            return
        same(call(tt, ours(layout)), expected)
        return
    same(call(tt, ours(layout)), call(torch, theirs(layout)))


OF_COORDINATES = {
    "permute": lambda lib, x: x.permute(1, 0, 2),
    "transpose": lambda lib, x: x.transpose(0, 1),
    "unsqueeze first": lambda lib, x: x.unsqueeze(0),
    "unsqueeze between": lambda lib, x: x.unsqueeze(2),
    "unsqueeze last": lambda lib, x: x.unsqueeze(-1),
    "select sparse": lambda lib, x: x[2],
    "select dense": lambda lib, x: x[:, :, 1],
    "select all sparse": lambda lib, x: x[0][1],
    "None": lambda lib, x: x[None],
    "index_select sparse": lambda lib, x: x.index_select(1, lib.tensor([1, 0, 1])).coalesce(),
    "index_select dense": lambda lib, x: x.index_select(2, lib.tensor([1, 0, 1])).coalesce(),
    "cat sparse": lambda lib, x: lib.cat([x, x], 1),
    "cat dense": lambda lib, x: lib.cat([x, x], 2),
    "stack sparse": lambda lib, x: lib.stack([x, x], 1),
    "stack dense": lambda lib, x: lib.stack([x, x], 3),
    "vstack": lambda lib, x: lib.vstack([x, x]),
    "sparse_resize_": lambda lib, x: x.clone().sparse_resize_((5, 4, 2), 2, 1),
    "sparse_resize_ dense": lambda lib, x: x.clone().sparse_resize_((3, 4, 3), 2, 1).to_dense().shape,
    "sparse_resize_and_clear_": lambda lib, x: x.clone().sparse_resize_and_clear_((2, 2), 1, 1),
    "resize_as_sparse_": lambda lib, x: lib.zeros(2, 2).to_sparse().resize_as_sparse_(x),
    "sparse_mask of dense": lambda lib, x: lib.ones(3, 4, 2).sparse_mask(x.coalesce()),
    "sparse_mask of sparse": lambda lib, x: x.coalesce().sparse_mask(x.coalesce()),
    "coalesce": lambda lib, x: x.coalesce(),
}


@pytest.mark.parametrize("call", OF_COORDINATES.values(), ids=OF_COORDINATES)
def test_coordinates_with_dense_dimensions_do_what_pytorch_does(call):
    first, second = hybrid()
    same(call(tt, first), call(torch, second))


@pytest.mark.parametrize("layout", COMPRESSED)
def test_batches_transpose_and_select_as_in_pytorch(layout):
    values = [MATRIX, (2 * np.array(MATRIX)).tolist()]
    first, second = ours(layout, values), theirs(layout, values)
    same(first[1], second[1])
    same(first.transpose(1, 2), second.transpose(1, 2))
    same(first.select(0, 0), second.select(0, 0))


def test_rows_are_resized_as_in_pytorch():
    for layout in ("sparse_csr", "sparse_csc"):
        for size in ((5, 5), (4, 4)):
            same(ours(layout).resize_(size), theirs(layout).resize_(size))
    with pytest.raises(ShapeError, match="cannot shrink from 4 to 3"):
        ours("sparse_csr").resize_((4, 3))
    assert ours("sparse_csr").resize_((2, 4)).to_dense().tolist() == MATRIX[:2]
    assert ours("sparse_bsc").resize_((4, 6)).to_dense()[:, :4].tolist() == MATRIX
    with pytest.raises(ShapeError, match="does not consist of blocks"):
        ours("sparse_bsr").resize_((5, 4))


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (((1, 4, 2), 2, 1), r"shrinking the size of sparse dimensions \(from \[3, 4\] to \[1, 4\]\)"),
        (((3, 4, 1), 2, 1), r"shrinking the size of dense dimensions \(from \[2\] to \[1\]\)"),
        (((3, 4, 2), 1, 2), r"changing the number of sparse dimensions \(from 2 to 1\)"),
        (((3, 4), 2, 1), r"must be sparse_dim \(2\) \+ dense_dim \(1\), but got size \[3, 4\]"),
    ],
)
def test_sizes_that_would_lose_elements_are_refused(size, message):
    tensor, _ = hybrid()
    with pytest.raises(ShapeError, match=message):
        tensor.sparse_resize_(*size)
    assert tensor.shape == (3, 4, 2)


# --- as dense tensors do it ----------------------------------------------------------------------------------------

AS_DENSE = {
    "slice rows": lambda x: x[1:3],
    "slice columns": lambda x: x[:, 1:3],
    "slice with steps": lambda x: x[::2, 1::2],
    "slice both": lambda x: x[1:, :-1],
    "empty slice": lambda x: x[3:1],
    "narrow": lambda x: x.narrow(0, 1, 2),
    "permute": lambda x: x.permute(1, 0),
    "movedim": lambda x: x.movedim(0, 1),
    "T": lambda x: x.T,
    "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(0),
    "index_select rows": lambda x: x.index_select(0, tt.tensor([2, 0, 2, 1])),
    "index_select columns": lambda x: x.index_select(1, tt.tensor([3, 3, 0])),
    "a vector of places": lambda x: x[tt.tensor([-1, 0])],
    "a vector of columns": lambda x: x[:, tt.tensor([1, 3])],
    "a mask of rows": lambda x: x[tt.tensor([True, False, True, False])],
    "split": lambda x: x.split(2)[1],
    "chunk": lambda x: x.chunk(2, 1)[1],
    "cat rows": lambda x: tt.cat([x, x, x]),
    "cat columns": lambda x: tt.cat([x, x], 1),
    "stack": lambda x: tt.stack([x, x]),
    "transpose of a slice": lambda x: x[1:].t(),
}
UNBLOCKED = {
    "slice with steps", "slice both", "slice rows", "slice columns", "a vector of places", "a mask of rows",
    "index_select columns", "narrow", "transpose of a slice",
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", AS_DENSE)
def test_structure_is_that_of_dense_tensors(layout, name):
    call, tensor = AS_DENSE[name], ours(layout)
    expected = call(tt.tensor(MATRIX)).numpy()
    try:
        found = call(tensor)
    except LayoutError as error:
        assert layout in ("sparse_bsr", "sparse_bsc")
        assert name in UNBLOCKED
        assert "does not consist of blocks of [2, 2]" in str(error)
        assert "try: x.to_sparse()" in str(error)
        return
    assert found.layout is not tt.strided
    np.testing.assert_array_equal(dense_of(found), expected)
    if layout != "sparse_coo":  # the result keeps its invariants
        check = tt.sparse_compressed_tensor
        indices = [*found._handle.indices_by_name.values()]
        check(
            *map(tt.tensor, indices), found.values(), found.shape, layout=found.layout, check_invariants=True
        )


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    shape=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    density=st.sampled_from([0.0, 0.3, 1.0]),
    data=st.data(),
)
def test_coordinates_are_shaped_as_dense_tensors_are(seed, shape, density, data):
    rng = np.random.default_rng(seed)
    array = random_matrix(rng, tuple(shape), density)
    sparse_dim = data.draw(st.integers(1, len(shape)))
    tensor, dense = tt.tensor(array).to_sparse(sparse_dim), tt.tensor(array)
    if data.draw(st.booleans()):  # the same, with every element stored in two halves
        halves = tt.cat([tensor._values() / 2] * 2)
        tensor = tt.sparse_coo_tensor(tt.cat([tensor._indices()] * 2, 1), halves, shape)
    dim = data.draw(st.integers(0, len(shape) - 1))
    start, stop = sorted(data.draw(st.tuples(st.integers(-5, 5), st.integers(-5, 5))))
    step = data.draw(st.integers(1, 3))
    pick = tuple([slice(None)] * dim + [slice(start, stop, step)])
    order = [*rng.permutation(sparse_dim), *(sparse_dim + rng.permutation(len(shape) - sparse_dim))]
    calls = [
        lambda x: x[pick],
        lambda x: x.permute(*map(int, order)),
        lambda x: x.unsqueeze(dim),
        lambda x: x.squeeze(),
        lambda x: x.flip(dim),
        lambda x: tt.cat([x, x], dim),
        lambda x: tt.stack([x, x], dim),
    ]
    if shape[dim]:
        index = int(rng.integers(shape[dim]))
        places = tt.tensor(rng.integers(0, shape[dim], 5))
        calls += [lambda x: x.select(dim, index), lambda x: x.index_select(dim, places)]
    for call in calls:
        found = call(tensor)
        np.testing.assert_array_equal(dense_of(found), call(dense).numpy())
        if found.layout is tt.sparse_coo and found.is_coalesced():  # it says so rightly
            tt.sparse_coo_tensor(
                found._indices(), found._values(), found.shape, is_coalesced=True, check_invariants=True
            )


def test_sparse_dimensions_take_other_sizes():
    tensor = ours("sparse_coo")
    for shape in ((2, 8), (16,), (2, 2, 4), (-1, 2), (1, 16, 1)):
        assert tensor.reshape(shape).to_dense().tolist() == tt.tensor(MATRIX).reshape(shape).tolist()
    assert tensor.flatten().shape == (16,)
    with pytest.raises(ShapeError, match=r"shape \[3, 5\] is invalid"):
        tensor.reshape(3, 5)
    first, _ = hybrid()
    assert first.reshape(12, 2).to_dense().tolist() == first.to_dense().reshape(12, 2).tolist()
    with pytest.raises(LayoutError, match=r"keeps its dense dimensions \[2\]"):
        first.reshape(3, 8)


def test_dimensions_of_different_kinds_do_not_change_places():
    first, _ = hybrid()
    with pytest.raises(LayoutError, match="must both be sparse or both be dense"):
        first.transpose(1, 2)
    with pytest.raises(
        LayoutError, match="transpositions between sparse and dense dimensions are not allowed"
    ):
        first.permute(2, 0, 1)
    with pytest.raises(LayoutError, match="keeps its 1 batch dimensions first"):
        tt.ones(2, 3, 4).to_sparse_csr().permute(1, 0, 2)
    with pytest.raises(LayoutError, match="cannot be put between the rows and columns"):
        ours("sparse_csr").unsqueeze(1)


def test_what_would_have_to_be_dense_is_refused_with_what_helps():
    mask = tt.tensor(MATRIX) > 0
    with pytest.raises(LayoutError, match=r"try: x\.to_dense\(\)\[\.\.\.\], or x\.sparse_mask\(mask\)"):
        ours("sparse_coo")[mask]
    with pytest.raises(IndexValueError, match="index 4 is out of bounds for dimension 0 with size 4"):
        ours("sparse_csr")[4]
    with pytest.raises(IndexValueError, match="index 7 is out of bounds"):
        ours("sparse_coo").index_select(0, tt.tensor([0, 7]))
    with pytest.raises(LayoutError, match="cut inside its matrices"):
        tt.ones(2, 3, 4).to_sparse_csr()[:, 1:]
    with pytest.raises(LayoutError, match=r"equally many elements, and these store \[5, 4\]"):
        tt.stack([ours("sparse_csr"), tt.eye(4).to_sparse_csr()])
    with pytest.raises(ShapeError, match="the same number of sparse and dense dimensions"):
        tt.cat([tt.ones(2, 2).to_sparse(), tt.ones(2, 2).to_sparse(1)])


# --- without data, and where nothing serves ------------------------------------------------------------------------

WITHOUT_DATA = {
    **{name: call for name, call in AS_DENSE.items() if name != "a mask of rows"},
    "select": lambda x: x[1],
    "an element": lambda x: x[1, 2],
    "mask": lambda x: x.sparse_mask(x),
    "clone": lambda x: x.clone(),
    "zeros_like": tt.zeros_like,
    "zero_": lambda x: x.clone().zero_(),
    "double": lambda x: x.to(tt.float64),
    "neg": lambda x: -x,
    "sum": lambda x: x.sum(),
    "times": lambda x: x * 2,
    "plus": lambda x: x + x,
    "product": lambda x: x @ x,
    "product with dense": lambda x: x @ tt.ones(4, 2, device=x.device),
    "sparse.sum": lambda x: tt.sparse.sum(x, 0) if x.layout is tt.sparse_coo else x.sum(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_meta_and_fake_tensors_have_the_layout_size_and_dtype_of_the_result(layout, name):
    call, tensor = WITHOUT_DATA[name], ours(layout)
    try:
        expected = call(tensor)
    except LayoutError:
        pytest.skip("blocks are not cut")
    with tt.fake_mode() as mode:
        fake = mode.from_tensor(tensor)
        without = [call(fake)]
    if "vector" not in name and "index" not in name and name.rpartition(" ")[2] != "rows":
        without.append(call(tensor.to("meta")))
        assert without[-1].device.type == "meta"
    for found in without:
        assert (found.layout, found.shape, found.dtype) == (expected.layout, expected.shape, expected.dtype)


def test_how_many_rows_a_mask_takes_is_not_known_without_data():
    with tt.fake_mode() as mode, pytest.raises(tt.errors.DataDependentError):
        AS_DENSE["a mask of rows"](mode.from_tensor(ours("sparse_csr")))


def test_nothing_becomes_dense_silently():
    from tt.core.dispatch.resolve.fallback import FALLBACKS

    tensor = ours("sparse_csr")
    with pytest.raises(
        tt.errors.NoKernelError, match=r"fallback \(policy: error\)[^$]*try: self\.to_dense\(\)"
    ):
        tt.exp(tensor)
    before = FALLBACKS["exp", "cpu/sparse_csr", "cpu"]
    with tt.fallback_policy("warn", "sparse_csr"):
        with pytest.warns(
            UserWarning, match="exp has no kernel for cpu/sparse_csr and runs on strided tensors"
        ):
            found = tt.exp(tensor)
        with pytest.raises(tt.errors.NoKernelError):
            tt.exp(ours("sparse_csc"))
    assert found.layout is tt.strided
    np.testing.assert_allclose(found.numpy(), np.exp(np.array(MATRIX)), rtol=1e-6)
    assert FALLBACKS["exp", "cpu/sparse_csr", "cpu"] == before + 1
    with tt.fallback_policy("silent"), pytest.raises(LayoutError, match=r"src tt\.strided"):
        tensor.exp_()


def test_memory_is_shared_where_whole_rows_are_taken():
    tensor = ours("sparse_csr")
    for part in (tensor[1:3], tensor.t(), tensor[0], tensor.unsqueeze(0)):
        assert np.shares_memory(part._values().numpy(), tensor.values().numpy())
    ordered = ours("sparse_coo")
    assert np.shares_memory(ordered[1:3]._values().numpy(), ordered._values().numpy())


# --- messages, and what tests use ----------------------------------------------------------------------------------


def test_the_error_of_a_mixed_call_names_the_tensor_to_convert():
    sparse, dense = ours("sparse_coo"), tt.tensor(MATRIX)
    with pytest.raises(tt.errors.NoKernelError) as caught:
        tt.where(dense > 0, sparse, dense)
    assert "\n  try: self.to_dense()\n" in str(caught.value)
    with pytest.raises(tt.errors.NoKernelError) as caught:
        tt.cat([dense, sparse])
    message = str(caught.value)
    assert "argument 'tensors[1]': device=cpu layout=sparse_coo dtype=float32" in message
    groups = [set(found.split(", ")) for found in re.findall(r"((?:[\w/+]+, )*[\w/+]+) \{", message)]
    together = {"cpu/sparse_csr", "cpu/sparse_coo"}  # with others, in any order
    assert any(together <= group for group in groups), "places that serve the same stand together"
    assert "\n  try: tensors[1].to_dense()\n" in message


def test_assert_close_compares_layouts_and_elements():
    sparse = ours("sparse_csr")
    tt.testing.assert_close(sparse, sparse.clone())
    tt.testing.assert_close(sparse, tt.tensor(MATRIX), check_layout=False)
    with pytest.raises(AssertionError, match=r"The layouts differ: tt\.sparse_csr and tt\.strided"):
        tt.testing.assert_close(sparse, tt.tensor(MATRIX))
    with pytest.raises(AssertionError, match="5 of 16 elements differ"):
        tt.testing.assert_close(sparse, sparse * 2)


def test_every_kernel_of_a_layout_has_one_without_data():
    from tt.core.dispatch.registry.registry import REGISTRY

    ours("sparse_coo")
    places = {"cpu": set(), "meta": set()}
    for op, registrations in REGISTRY.kernels.items():
        for registration in registrations:
            if registration.device in places and set(registration.layouts) & set(LAYOUTS):
                places[registration.device].add((op, registration.layouts))
    assert len(places["cpu"]) > 500
    assert places["cpu"] <= places["meta"]


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_a_strided_tensor_takes_no_sparse_index(layout):
    index = tt.tensor([[1, 0, 1]]).to_sparse(layout=getattr(tt, layout))
    with pytest.raises(RuntimeError, match="strided"):
        tt.index_select(tt.eye(3), 0, index)


@pytest.mark.parametrize("join", ["cat", "stack", "hstack", "vstack"])
def test_tensors_of_several_layouts_are_not_joined(join):
    x = tt.eye(2)
    kinds = [
        x,
        x.to_sparse(),
        x.to_sparse_csr(),
        x.to_sparse_csc(),
        x.to_sparse_bsr((1, 1)),
        x.to_sparse_bsc((1, 1)),
    ]
    for one in kinds:
        for other in kinds:
            if one is not other:
                with pytest.raises(NoKernelError, match="layout="):
                    getattr(tt, join)([one, other])


def test_negative_indices_count_from_the_end() -> None:
    x = tt.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [0.0, 0.0, 4.0]])
    index = tt.tensor([-1, 0, -3])
    for dim in (0, 1):
        expected = x.index_select(dim, index % 3)
        for sparse in (x.to_sparse(), x.to_sparse_csr()):
            assert sparse.index_select(dim, index).to_dense().equal(expected)
    with pytest.raises(IndexError, match="-4 is out of bounds"):
        x.to_sparse().index_select(0, tt.tensor([-4]))


@pytest.mark.parametrize("layout", ["sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
@pytest.mark.parametrize("dim", [0, 1])
def test_a_row_or_column_of_a_compressed_matrix_is_copied(layout: str, dim: int) -> None:
    x = tt.arange(16.0).reshape(4, 4)
    blocksize = (2, 2) if layout in ("sparse_bsr", "sparse_bsc") else None
    part = tt.select_copy(x.to_sparse(layout=getattr(tt, layout), blocksize=blocksize), dim, 1)
    assert part.layout is tt.sparse_coo and part.to_dense().equal(x.select(dim, 1))
