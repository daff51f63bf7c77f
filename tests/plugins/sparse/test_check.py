"""The invariants of sparse tensors: the checks, the names in messages, and how the check is switched.

PyTorch refuses the same; its messages say less of where.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tests.plugins.sparse.pairs import torch
from tt.errors import IndexValueError, LayoutError

pytestmark = pytest.mark.torch

check = tt.sparse.check_sparse_tensor_invariants
CSR = ([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2))
BATCH = ([[0, 1, 2], [0, 1, 2]], [[0, 1], [0, 1]], [[1.0, 2.0], [3.0, 4.0]], (2, 2, 2))
BLOCKS = ([0, 1, 2], [0, 1], np.ones((2, 2, 2)).tolist(), (4, 4))


def with_part(arguments, at, part):
    return (*arguments[:at], part, *arguments[at + 1 :])


WRONG = {
    "end of rows": ("sparse_csr", with_part(CSR, 0, [0, 1, 3]), r"`crow_indices\[\.\.\., -1\] == nnz` .* "
    r"crow_indices\[2\] is 3"),
    "begin of rows": ("sparse_csr", with_part(CSR, 0, [1, 1, 2]), r"`crow_indices\[\.\.\., 0\] == 0` .* "
    r"crow_indices\[0\] is 1"),
    "falling rows": (
        "sparse_csr", ([0, 2, 1, 2], [0, 1], [1.0, 2.0], (3, 2)),
        r"`0 <= crow_indices\[\.\.\., 1:\] - crow_indices\[\.\.\., :-1\] <= ncols` .* crow_indices\[2\] is 1",
    ),
    "long row": ("sparse_csr", ([0, 3], [0, 1, 1], [1.0, 2.0, 3.0], (1, 2)), r"<= ncols` .* crow_indices\[1\] is 3"),
    "large column": ("sparse_csr", with_part(CSR, 1, [0, 5]), r"`0 <= col_indices < ncols` .* col_indices\[1\] is 5"),
    "negative column": ("sparse_csr", with_part(CSR, 1, [-1, 1]), r"col_indices\[0\] is -1"),
    "falling columns": (
        "sparse_csr", ([0, 2, 2], [1, 0], [1.0, 2.0], (2, 2)), r"are sorted and distinct .* col_indices\[1\] is 0"
    ),
    "equal columns": ("sparse_csr", ([0, 2, 2], [1, 1], [1.0, 2.0], (2, 2)), r"col_indices\[1\] is 1"),
    "after empty rows": (
        "sparse_csr", ([0, 0, 1, 1, 3], [3, 2, 2], [1.0, 2.0, 3.0], (4, 4)), r"col_indices\[2\] is 2"
    ),
    "in a batch": ("sparse_csr", with_part(BATCH, 1, [[0, 1], [0, 7]]), r"col_indices\[1, 1\] is 7"),
    "rows of columns": ("sparse_csc", with_part(CSR, 1, [0, 2]), r"`0 <= row_indices < nrows` .* row_indices\[1\] "
    "is 2"),
    "blocks": ("sparse_bsr", with_part(BLOCKS, 1, [0, 2]), r"col_indices\[1\] is 2"),
    "blocks of columns": ("sparse_bsc", with_part(BLOCKS, 0, [0, 1, 1]), r"`ccol_indices\[\.\.\., -1\] == nnz`"),
}  # fmt: skip
MISFITS = {
    "few rows": ("sparse_csr", with_part(CSR, 0, [0, 2]), "ShapeError", r"the number of rows \+ 1 \(=3\), but got 2"),
    "few columns": ("sparse_csr", with_part(CSR, 2, [1.0, 2.0, 3.0]), "ShapeError", r"equal to nnz \(=3\) .* but "
    "got 2"),
    "dtypes": ("sparse_csr", with_part(CSR, 0, [0.0, 1.0, 2.0]), "DtypeError", "must have the same dtype, but got"),
    "floats": ("sparse_csr", ([0.0, 1.0, 2.0], [0.0, 1.0], [1.0, 2.0], (2, 2)), "DtypeError", "int32 or int64"),
    "dimensions": ("sparse_csr", with_part(CSR, 3, (2, 2, 2)), "ShapeError", r"\(=0 \+ 2 \+ 0\) but got 3"),
    "batches": ("sparse_csr", with_part(BATCH, 0, [0, 1, 2]), "ShapeError", "dimensionalities must be equal but got "
    "1 and 2"),
    "sizes of batches": ("sparse_csr", with_part(BATCH, 3, (3, 2, 2)), "ShapeError", "all batch dimensions"),
    "dense size": ("sparse_csr", ([0, 1, 2], [0, 1], [[1.0], [2.0]], (2, 2, 3)), "ShapeError", r"dense size \[1\]"),
    "size of blocks": ("sparse_bsr", with_part(BLOCKS, 3, (4, 5)), "ShapeError", r"tensor shape\[1\] \(=5\) must be "
    "divisible"),
    "no blocks": ("sparse_bsr", with_part(BLOCKS, 2, [[1.0], [2.0]]), "ShapeError", r"block dimensionalities \(=0 "
    r"\+ 2\)"),
    "empty blocks": ("sparse_bsr", with_part(BLOCKS, 2, tt.ones(2, 0, 2)), "ShapeError", "blocksize must be positive"),
    "rows of blocks": ("sparse_bsr", with_part(BLOCKS, 0, [0, 2]), "ShapeError", r"row blocks \+ 1 \(=3\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_index_is_named_with_its_place(name):
    layout, arguments, message = WRONG[name]
    make = getattr(tt, f"{layout}_tensor")
    with pytest.raises(IndexValueError, match=message):
        make(*arguments)
    assert make(*arguments, check_invariants=False).shape == arguments[3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError):
            getattr(torch, f"{layout}_tensor")(*arguments, check_invariants=True)


@pytest.mark.parametrize("name", MISFITS)
def test_shapes_and_dtypes_that_do_not_fit_are_refused_in_any_case(name):
    layout, arguments, error, message = MISFITS[name]
    for wanted in (True, False, None):
        with pytest.raises(getattr(tt.errors, error), match=message):
            getattr(tt, f"{layout}_tensor")(*arguments, check_invariants=wanted)


def test_a_layout_that_is_not_compressed_is_refused():
    for layout in (None, tt.sparse_coo, tt.strided):
        with pytest.raises(LayoutError, match="expected a sparse compressed layout, but got"):
            tt.sparse_compressed_tensor(*CSR, layout=layout)


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([[0, 1, 1], [1, 0, 0]], r"coordinates \[1, 0\] and \[1, 0\] at positions 1 and 2 do not ascend"),
        ([[0, 1, 0], [0, 0, 1]], r"coordinates \[1, 0\] and \[0, 1\] at positions 1 and 2"),
    ],
)
def test_coordinates_that_are_not_coalesced_are_not_called_so(indices, message):
    with pytest.raises(LayoutError, match=message):
        tt.sparse_coo_tensor(indices, [1.0, 2.0, 3.0], (2, 2), is_coalesced=True)


def test_a_size_alone_makes_an_empty_tensor():
    made = tt.sparse_coo_tensor((2, 3), dtype=tt.float64)
    assert (made._nnz(), made.shape, made.dtype) == (0, (2, 3), tt.float64)
    with pytest.raises(TypeError, match="needs indices and values, or a size alone"):
        tt.sparse_coo_tensor(tt.zeros(2, 3))


@settings(max_examples=60, deadline=None)
@given(
    starts=st.lists(st.integers(-1, 4), min_size=2, max_size=4),
    places=st.lists(st.integers(-1, 3), max_size=4),
    columns=st.integers(0, 3),
)
def test_what_is_wrong_here_is_wrong_in_pytorch(starts, places, columns):
    values, size = [1.0] * len(places), (len(starts) - 1, columns)

    def made(lib):
        indices = [lib.tensor(part, dtype=lib.int64) for part in (starts, places)]
        try:
            lib.sparse_csr_tensor(*indices, lib.tensor(values), size, check_invariants=True)
        except RuntimeError:
            return False
        except IndexError:
            return False
        return True

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # PyTorch reads memory at starts that are none before it refuses them, and some of it is not the process's.
        assert made(tt) == (all(0 <= start <= len(places) for start in starts) and made(torch))


# --- the switch ----------------------------------------------------------------------------------------------------


def test_the_check_is_switched_for_a_block_a_function_and_the_process():
    wrong = with_part(CSR, 1, [0, 5])
    assert check.is_enabled()
    with check(False):
        assert not check.is_enabled()
        tt.sparse_csr_tensor(*wrong)
        with check(), pytest.raises(IndexValueError):
            tt.sparse_csr_tensor(*wrong)
        with pytest.raises(IndexValueError):
            tt.sparse_csr_tensor(*wrong, check_invariants=True)
    assert check.is_enabled()

    @check(enable=False)
    def make():
        """Make it."""
        return tt.sparse_csr_tensor(*wrong)

    assert (make().shape, make.__doc__) == ((2, 2), "Make it.")
    check.disable()
    try:
        assert not check.is_enabled()
        tt.sparse_csr_tensor(*wrong)
    finally:
        check.enable()
    assert check.is_enabled()


def test_the_check_is_switched_back_after_an_error():
    with pytest.raises(KeyError), check(False):
        raise KeyError
    assert check.is_enabled()
