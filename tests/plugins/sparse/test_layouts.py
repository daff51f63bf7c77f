"""All layouts: making them, members, printing, conversions, and attributes that travel with them.

PyTorch is the reference, side by side; SciPy and NumPy for what PyTorch lacks.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tests.plugins.sparse.pairs import (
    LAYOUTS,
    MATRIX,
    options_of,
    ours,
    random_matrix,
    same,
    text,
    theirs,
    torch,
)
from tt.errors import LayoutError

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("quiet_torch")]

COMPRESSED = LAYOUTS[1:]
MAKERS = {
    "sparse_csr": ([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0]),
    "sparse_csc": ([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0]),
    "sparse_bsr": ([0, 1, 3], [1, 0, 2], np.arange(12.0, dtype=np.float32).reshape(3, 2, 2).tolist()),
    "sparse_bsc": ([0, 1, 3], [1, 0, 2], np.arange(18.0, dtype=np.float32).reshape(3, 2, 3).tolist()),
}


# --- making ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", COMPRESSED)
def test_a_compressed_tensor_is_made_of_its_components(layout):
    made = getattr(tt, f"{layout}_tensor")(*MAKERS[layout])
    same(made, getattr(torch, f"{layout}_tensor")(*MAKERS[layout]))
    general = tt.sparse_compressed_tensor(*MAKERS[layout], layout=layout)
    assert text(general) == text(made)
    names = ("crow", "col") if layout in ("sparse_csr", "sparse_bsr") else ("ccol", "row")
    for name, indices in zip(names, MAKERS[layout], strict=False):
        assert getattr(made, f"{name}_indices")().tolist() == indices
    assert made.values().tolist() == MAKERS[layout][2]
    assert (made.nnz(), made._nnz(), made.sparse_dim(), made.dense_dim()) == (3, 3, 2, 0)


def test_batches_and_dense_dimensions_are_made_as_in_pytorch():
    batch = ([[0, 1, 2], [0, 0, 2]], [[0, 1], [0, 1]], [[1.0, 2.0], [3.0, 4.0]])
    same(tt.sparse_csr_tensor(*batch), torch.sparse_csr_tensor(*batch))
    hybrid = ([0, 1, 2], [0, 1], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    same(tt.sparse_csr_tensor(*hybrid), torch.sparse_csr_tensor(*hybrid))
    same(tt.sparse_csr_tensor(*hybrid, (2, 9, 3)), torch.sparse_csr_tensor(*hybrid, (2, 9, 3)))
    assert tt.sparse_csr_tensor(*hybrid).dense_dim() == 1


def test_indices_of_int32_stay_so():
    made = tt.sparse_csr_tensor(
        tt.tensor([0, 1, 2], dtype=tt.int32), tt.tensor([0, 1], dtype=tt.int32), [1.0, 2.0]
    )
    assert (made.crow_indices().dtype, made.col_indices().dtype) == (tt.int32, tt.int32)


def test_components_share_their_memory():
    values = tt.tensor([1.0, 2.0])
    made = tt.sparse_csr_tensor([0, 1, 2], [0, 1], values)
    made.values().mul_(3)
    assert values.tolist() == [3.0, 6.0]
    assert made.to_dense().tolist() == [[3.0, 0.0], [0.0, 6.0]]


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_factories_make_tensors_without_elements(layout):
    ours_, theirs_ = getattr(tt, layout), getattr(torch, layout)
    for size in ((2, 3), (4, 2, 3), (0, 3)):
        same(tt.zeros(size, layout=ours_), torch.zeros(size, layout=theirs_))
        same(
            tt.empty(size, layout=ours_), torch.zeros(size, layout=theirs_)
        )  # whose empty() has wild indices
    same(tt.zeros_like(tt.eye(2), layout=ours_), torch.zeros_like(torch.eye(2), layout=theirs_))
    same(tt.zeros_like(ours(layout)), torch.zeros_like(theirs(layout)))
    same(ours(layout).new_zeros((3, 2)), theirs(layout).new_zeros((3, 2)))
    with pytest.raises(LayoutError, match="1 is not zero"):
        tt.ones(2, 3, layout=ours_)
    assert tt.full((2, 3), 0.0, layout=ours_)._nnz() == 0


def test_a_factory_of_blocks_asks_for_the_conversion():
    with pytest.raises(LayoutError, match=r"try: tt\.zeros\(size\)\.to_sparse_bsr\(blocksize\)"):
        tt.zeros(2, 4, layout=tt.sparse_bsr)
    with pytest.raises(LayoutError, match="only batched sparse compressed"):
        tt.zeros(2, layout=tt.sparse_csr)


# --- their members, and how they print ----------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "bool", "complex64", "float16"])
def test_a_tensor_prints_as_in_pytorch(layout, dtype):
    found = tt.tensor(MATRIX).to(getattr(tt, dtype)).to_sparse(layout=layout, **options_of(layout))
    expected = (
        torch.tensor(MATRIX)
        .to(getattr(torch, dtype))
        .to_sparse(layout=getattr(torch, layout), **options_of(layout))
    )
    same(found, expected)
    if dtype == "float32":
        same(found.requires_grad_(), expected.requires_grad_())
    if layout == "sparse_coo" and dtype == "float32":  # no line is longer there than here
        assert repr(found) == repr(expected).replace("torch.", "tt.")


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_long_tensors_print_abbreviated(layout):
    same(tt.eye(1001).to_sparse(layout=layout), torch.eye(1001).to_sparse(layout=getattr(torch, layout)))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_members_that_a_layout_lacks_are_refused_with_the_conversion_that_helps(layout):
    tensor = ours(layout)
    rows, columns = layout in ("sparse_csr", "sparse_bsr"), layout in ("sparse_csc", "sparse_bsc")
    for name, has in {
        "crow_indices": rows, "col_indices": rows, "ccol_indices": columns, "row_indices": columns,
        "indices": layout == "sparse_coo", "is_coalesced": layout == "sparse_coo", "coalesce": layout == "sparse_coo",
    }.items():  # fmt: skip
        if has:
            getattr(tensor, name)()
        else:
            with pytest.raises(
                LayoutError, match=rf"{name}\(\) expected a .* but got tt\.{layout}\n  try: x"
            ):
                getattr(tensor, name)()
    assert (tensor.is_sparse, tensor.is_sparse_csr) == (layout == "sparse_coo", layout == "sparse_csr")
    assert tensor.layout is getattr(tt, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_needs_one_memory_is_refused(layout):
    tensor = ours(layout)
    for call in (tensor.data_ptr, tensor.untyped_storage, tensor.tolist):
        with pytest.raises(LayoutError, match=rf"layout tt\.{layout}"):
            call()
    for call, error in ((tensor.stride, RuntimeError), (tensor.numpy, TypeError)):
        with pytest.raises(error, match=rf"layout tt\.{layout}"):
            call()
    with pytest.raises(TypeError, match="cannot assign to parts of a tensor of the layout"):
        tensor[0] = 1.0
    assert not tensor.is_contiguous()


# --- conversions ---------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(0, 5),
    columns=st.integers(0, 4),
    density=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_every_layout_converts_to_every_other(seed, rows, columns, density):
    array = random_matrix(np.random.default_rng(seed), (2 * rows, 3 * columns), density)
    dense = tt.tensor(array)
    for source in LAYOUTS:
        made = dense.to_sparse(layout=source, **options_of(source, (2, 3)))
        np.testing.assert_array_equal(made.to_dense().numpy(), array)
        for target in LAYOUTS:
            found = made.to_sparse(layout=target, **options_of(target, (2, 3)))
            assert (found.layout.name, found.dtype) == (target, tt.float32)
            np.testing.assert_array_equal(found.to_dense().numpy(), array)
            if source not in ("sparse_bsr", "sparse_bsc"):  # whose zeros inside blocks stay
                assert text(found) == text(dense.to_sparse(layout=target, **options_of(target, (2, 3))))


@pytest.mark.parametrize("layout", COMPRESSED)
@pytest.mark.parametrize(
    ("shape", "dense_dim"),
    [((2, 4, 6), 0), ((4, 6, 2), 1), ((3, 2, 4, 6), 0), ((2, 4, 6, 3), 1), ((2, 0, 6), 0)],
)
def test_batches_and_dense_dimensions_convert_as_in_pytorch(layout, shape, dense_dim):
    rng = np.random.default_rng(0)
    front = len(shape) - dense_dim - 2
    pattern = rng.random(shape[front : front + 2]) < 0.5
    array = random_matrix(rng, shape, 1.0) * pattern.reshape((1,) * front + pattern.shape + (1,) * dense_dim)
    array = array.astype(np.float32)
    blocks = ((2, 3),) if layout in ("sparse_bsr", "sparse_bsc") else ()
    found = getattr(tt.tensor(array), f"to_{layout}")(*blocks, dense_dim=dense_dim)
    same(found, getattr(torch.tensor(array), f"to_{layout}")(*blocks, dense_dim=dense_dim))
    np.testing.assert_array_equal(found.to_dense().numpy(), array)
    for target in LAYOUTS:
        other = found.to_sparse(layout=target, **options_of(target, (2, 3)))
        np.testing.assert_array_equal(other.to_dense().numpy(), array)
    coordinates = found.to_sparse()
    assert (coordinates.sparse_dim(), coordinates.dense_dim()) == (len(shape) - dense_dim, dense_dim)


@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
def test_leading_dimensions_may_be_sparse_alone(sparse_dim):
    array = random_matrix(np.random.default_rng(1), (4, 3, 2), 0.3)
    same(tt.tensor(array).to_sparse(sparse_dim), torch.tensor(array).to_sparse(sparse_dim))


def test_uncoalesced_coordinates_are_summed_on_the_way_to_rows_and_columns():
    arguments = ([[1, 0, 1, 1], [2, 0, 2, 0]], [1.0, 2.0, 3.0, 4.0], (2, 3))
    for name in ("to_sparse_csr", "to_sparse_csc"):
        same(
            getattr(tt.sparse_coo_tensor(*arguments), name)(),
            getattr(torch.sparse_coo_tensor(*arguments), name)(),
        )


def test_half_dtypes_convert_and_coalesce():
    values = tt.tensor(MATRIX).to(tt.bfloat16)
    for source in LAYOUTS:
        made = values.to_sparse(layout=source, **options_of(source))
        for target in LAYOUTS:
            found = made.to_sparse(layout=target, **options_of(target)).to_dense()
            assert (found.dtype, found.tolist()) == (tt.bfloat16, MATRIX)
    many = tt.sparse_coo_tensor(tt.zeros(1, 5000, dtype=tt.int64), tt.ones(5000, dtype=tt.bfloat16), (1,))
    assert many.coalesce().values().tolist() == [
        4992.0
    ]  # the nearest that there is, not 256, where adding 1 stops
    assert many.to_dense().tolist() == [4992.0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x.to_sparse(0), "ShapeError", r"sparse_dim argument must be in >0 when self\.dim\(\)>0"),
        (lambda x: x.to_sparse(3), "ShapeError", r"sparse_dim argument must be in \[0,2\] range, but 3 is given"),
        (lambda x: x.to_sparse(layout=tt.sparse_bsr), "LayoutError", "without blocksize argument given"),
        (lambda x: x.to_sparse(layout=tt.sparse_csr, blocksize=(2, 2)), "LayoutError", "with blocksize argument given"),
        (lambda x: x.to_sparse_bsr((3, 2)), "ShapeError", r"sparse size \(4,4\) must be divisible by .* \(3,2\)"),
        (lambda x: x.to_sparse_bsr((0, 2)), "ShapeError", r"blocksize needs to be positive, but got \[0, 2\]"),
        (lambda x: x.to_sparse_csr(1), "ShapeError", r"dense_dim argument must be in \[0,0\] range, but 1 is given"),
        (lambda x: x[0].to_sparse_csr(), "ShapeError", "fewer than two dimensions"),
        (lambda x: x.to_sparse(layout="sparse_cs"), "UnknownNameError", "did you mean 'sparse_csr'"),
        (lambda x: x.to_sparse().to_sparse(layout=tt.strided), "LayoutError", "tt.strided is not a sparse layout"),
        (lambda x: x.to_sparse().to_sparse(1), "LayoutError", "the tensor has 2 sparse dimensions"),
        (lambda x: tt.stack([x, tt.eye(4)]).to_sparse_csr(), "LayoutError", "matrix 0 has 5, matrix 1 has 4"),
        (lambda x: tt.stack([x, x]).to_sparse().to_sparse_csr(), "LayoutError", r"sparse_dim\(\)!=2"),
    ],
)  # fmt: skip
def test_conversions_that_cannot_be_say_why(call, error, message):
    with pytest.raises(getattr(tt.errors, error), match=message):
        call(tt.tensor(MATRIX))


# --- memory --------------------------------------------------------------------------------------------------------


def test_large_matrices_need_little_more_memory_than_their_elements():
    """A gibibyte for ten million elements are 107 bytes an element; coordinates and a value of float32 have 20."""
    import tracemalloc

    count, size = 400_000, 1_000_000
    rng = np.random.default_rng(0)
    tracemalloc.start()
    try:
        indices = tt.from_numpy(rng.integers(0, size, (2, count)))
        values = tt.from_numpy(rng.standard_normal(count, dtype=np.float32))
        made = tt.sparse_coo_tensor(indices, values, (size, size))
        del indices, values
        coalesced = made.coalesce()
        del made
        rows = coalesced.to_sparse_csr()
        columns = rows.to_sparse_csc()
        del coalesced
        assert columns.to_sparse()._nnz() == rows._nnz() <= count
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    pointers = 6 * 8 * size  # where rows and columns begin, of all that is there at once
    assert (peak - pointers) / count < 107
