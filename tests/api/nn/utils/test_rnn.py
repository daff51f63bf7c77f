"""Packed sequences: packing, padding, order, devices, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.nn.utils import rnn

SEQUENCES = ([1.0, 2.0], [3.0, 4.0, 5.0], [6.0])


def sequences(lib=tt):
    return [lib.tensor(values) for values in SEQUENCES]


def test_sequences_are_packed_step_by_step():
    packed = rnn.pack_sequence(sequences(), enforce_sorted=False)
    assert packed.data.tolist() == [3, 1, 6, 4, 2, 5]
    assert packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2]
    assert packed.unsorted_indices.tolist() == [1, 0, 2]
    assert [s.tolist() for s in rnn.unpack_sequence(packed)] == [list(s) for s in SEQUENCES]


@pytest.mark.parametrize("batch_first", [False, True])
def test_padding_stands_after_shorter_sequences(batch_first):
    packed = rnn.pack_sequence(sequences(), enforce_sorted=False)
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first, -1.0, 4)
    rows = padded if batch_first else padded.t()
    assert rows.tolist() == [[1, 2, -1, -1], [3, 4, 5, -1], [6, -1, -1, -1]]
    assert lengths.tolist() == [2, 3, 1]


def test_features_and_steps_beyond_the_longest_sequence():
    x = tt.randn(5, 2, 3)
    packed = rnn.pack_padded_sequence(x, [4, 2])
    np.testing.assert_array_equal(packed.data.numpy(), np.concatenate([x[:2].reshape(4, 3), x[2:4, 0]]))
    padded, _ = rnn.pad_packed_sequence(packed, total_length=5)
    assert padded.shape == (5, 2, 3)
    assert (padded[4:] == 0).all()
    assert (padded[2:, 1] == 0).all()


def test_gradients_go_back_to_the_elements():
    x = tt.randn(3, 2, 2, requires_grad=True)
    padded, _ = rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, tt.tensor([2, 3]), enforce_sorted=False))
    (2 * padded).sum().backward()
    expected = np.full((3, 2, 2), 2.0)
    expected[2, 0] = 0
    np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_pad_sequence_pads_on_either_side():
    rows = sequences()
    assert rnn.pad_sequence(rows, True).tolist() == [[1, 2, 0], [3, 4, 5], [6, 0, 0]]
    assert rnn.pad_sequence(rows, True, 7.0, "left").tolist() == [[7, 1, 2], [3, 4, 5], [7, 7, 6]]
    assert rnn.pad_sequence([tt.ones(2, 3), tt.ones(1, 3)]).shape == (2, 2, 3)


def test_unpad_sequence_removes_the_padding():
    padded = rnn.pad_sequence(sequences())
    assert [s.tolist() for s in rnn.unpad_sequence(padded, tt.tensor([2, 3, 1]))] == [
        list(s) for s in SEQUENCES
    ]


def test_an_inverted_permutation():
    assert rnn.invert_permutation(tt.tensor([2, 0, 1])).tolist() == [1, 2, 0]
    assert rnn.invert_permutation(None) is None


def test_conversions_keep_the_order():
    packed = rnn.pack_sequence(sequences(), enforce_sorted=False)
    for name, dtype in (("double", tt.float64), ("half", tt.float16), ("int", tt.int32), ("byte", tt.uint8)):
        other = getattr(packed, name)()
        assert isinstance(other, rnn.PackedSequence)
        assert other.data.dtype is dtype
        assert other.batch_sizes is packed.batch_sizes
        assert other.sorted_indices.tolist() == [1, 0, 2]
    assert packed.cpu() is packed
    assert packed.float() is packed
    assert not packed.is_cuda


def test_parts_make_a_packed_sequence():
    packed = rnn.PackedSequence((tt.ones(3), tt.tensor([2, 1])))
    assert packed.batch_sizes.tolist() == [2, 1]
    assert packed.sorted_indices is None
    assert len(packed) == 4
    with pytest.raises(ValueError, match="batch_sizes"):
        rnn.PackedSequence(tt.ones(3))
    with pytest.raises(ValueError, match="on CPU"):
        rnn.PackedSequence(tt.ones(3), tt.empty(2, device="meta", dtype=tt.int64))


WRONG = [
    (lambda r, lib: r.pack_padded_sequence(lib.ones(4, 2, 3), [2, 3]), "sorted in decreasing order"),
    (lambda r, lib: r.pack_padded_sequence(lib.ones(4, 2, 3), [2, 0]), "greater than 0"),
    (lambda r, lib: r.pack_padded_sequence(lib.ones(4, 2, 3), [2]), r"len\(lengths\)"),
    (lambda r, lib: r.pack_padded_sequence(lib.ones(0, 2, 3), [0, 0]), "Cannot pack empty tensors"),
    (lambda r, lib: r.pack_sequence([lib.ones(2), lib.ones(3)]), "sorted in decreasing order"),
    (lambda r, lib: r.pack_sequence([]), "received an empty list of sequences"),
    (lambda r, lib: r.pad_sequence(5), "Expected iterable"),
    (lambda r, lib: r.pad_sequence([lib.ones(3), lib.ones(2)], padding_side="x"), "left or right"),
    (lambda r, lib: r.pad_sequence([lib.ones(2, 3), lib.ones(2, 2)]), "size"),
    (lambda r, lib: r.pad_sequence([lib.tensor(1.0), lib.tensor(2.0)]), "0 dimensions|size = 0"),
    (lambda r, lib: r.pad_sequence(lib.ones(3)), "0 dimensions|size = 0"),
]


@pytest.mark.parametrize(("call", "match"), WRONG)
def test_wrong_lengths_are_refused(call, match):
    with pytest.raises(RuntimeError, match=match):
        call(rnn, tt)


def test_lengths_beyond_the_input_and_a_short_total_are_refused():
    with pytest.raises(RuntimeError, match="at least 5"):
        rnn.pack_padded_sequence(tt.ones(4, 2, 3), [5, 2])
    packed = rnn.pack_padded_sequence(tt.ones(4, 2, 3), [3, 2])
    with pytest.raises(ValueError, match="total_length=2 and max sequence length being 3"):
        rnn.pad_packed_sequence(packed, total_length=2)


def test_numbers_are_no_sequences():
    with pytest.raises(IndexError, match="a tensor with 0 dimensions"):
        rnn.pack_sequence([tt.tensor(1.0)])
    with pytest.raises(TypeError, match="sequences are tensors, not int"):
        rnn.pad_sequence([1, 2])


@pytest.mark.torch
def test_errors_are_torchs():
    torch = pytest.importorskip("torch")
    for call, match in WRONG:
        with pytest.raises(RuntimeError, match=match):
            call(torch.nn.utils.rnn, torch)


@pytest.mark.torch
@pytest.mark.parametrize("batch_first", [False, True])
def test_packing_is_torchs(batch_first):
    torch = pytest.importorskip("torch")
    x = torch.randn(5, 5, 2)
    lengths = [3, 5, 1, 3, 4]
    theirs = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first, enforce_sorted=False)
    ours = rnn.pack_padded_sequence(tt.from_numpy(x.numpy()), lengths, batch_first, enforce_sorted=False)
    np.testing.assert_array_equal(ours.batch_sizes.numpy(), theirs.batch_sizes.numpy())
    again = rnn.pad_packed_sequence(ours, batch_first, 0.5, 7)
    expected = torch.nn.utils.rnn.pad_packed_sequence(theirs, batch_first, 0.5, 7)
    for a, b in zip(again, expected, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
