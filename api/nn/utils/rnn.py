"""Packed sequences: sequences of different lengths as one tensor without padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import tt
import tt.nn.functional as F
from tt.errors import ArgumentError, DimensionError
from tt.library import overridable

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence_(NamedTuple):  # noqa: N801 - PyTorch's name of the tuple
    """The four parts of a packed sequence."""

    data: tt.Tensor
    batch_sizes: tt.Tensor
    sorted_indices: tt.Tensor | None
    unsorted_indices: tt.Tensor | None


class PackedSequence(PackedSequence_):
    """Sequences of different lengths, packed step by step, longest first; `pack_sequence` makes them.

    Attributes
    ----------
    data : Tensor
        The elements of all sequences: first those of the first step, then those of the second, and so on.
    batch_sizes : Tensor
        How many sequences have each step; int64, on the CPU.
    sorted_indices : Tensor or None
        Which of the original sequences is first, second, ...; None if they were in order.
    unsorted_indices : Tensor or None
        The inverse of `sorted_indices`.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.utils.rnn import pack_sequence
    >>> packed = pack_sequence([tt.tensor([1, 2]), tt.tensor([3])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 3, 2]), tensor([2, 1]))
    """

    def __new__(
        cls,
        data: tt.Tensor,
        batch_sizes: tt.Tensor | None = None,
        sorted_indices: tt.Tensor | None = None,
        unsorted_indices: tt.Tensor | None = None,
    ) -> PackedSequence:
        """Make it of parts; (data, batch_sizes) may be given as one tuple."""
        if batch_sizes is None:
            # As in PyTorch, both may come as a pair in the only argument.
            parts: Any = data
            if not isinstance(parts, (tuple, list)) or len(parts) != 2:
                raise ValueError("PackedSequence takes data and batch_sizes, or a pair of both")
            data, batch_sizes = parts
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                f"batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                f"manually: nn.utils.rnn.pack_sequence makes them. Found batch_sizes on {batch_sizes.device}"
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return it with `data` on another device or of another dtype; itself if nothing changes.

        Parameters
        ----------
        *args, **kwargs
            Those of `Tensor.to`.
        """
        data = self.data.to(*args, **kwargs)
        # Indices follow the device but not the dtype, and batch sizes stay on the CPU, where the loop reads
        # them.
        if data is self.data:
            return self
        sorted_indices, unsorted_indices = (
            None if indices is None else indices.to(data.device)
            for indices in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(data, self.batch_sizes, sorted_indices, unsorted_indices)

    def pin_memory(self) -> PackedSequence:
        """Return it in memory that is pinned."""
        indices = (
            None if part is None else part.pin_memory()
            for part in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(self.data.pin_memory(), self.batch_sizes.pin_memory(), *indices)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return it on a CUDA device, the current one if none is given."""
        return self.to(*args, **kwargs) if args or "device" in kwargs else self.to("cuda", **kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return it on the CPU."""
        return self.to("cpu", *args, **kwargs)

    def double(self) -> PackedSequence:
        """Return it in float64."""
        return self.to(tt.float64)

    def float(self) -> PackedSequence:
        """Return it in float32."""
        return self.to(tt.float32)

    def half(self) -> PackedSequence:
        """Return it in float16."""
        return self.to(tt.float16)

    def long(self) -> PackedSequence:
        """Return it in int64."""
        return self.to(tt.int64)

    def int(self) -> PackedSequence:
        """Return it in int32."""
        return self.to(tt.int32)

    def short(self) -> PackedSequence:
        """Return it in int16."""
        return self.to(tt.int16)

    def char(self) -> PackedSequence:
        """Return it in int8."""
        return self.to(tt.int8)

    def byte(self) -> PackedSequence:
        """Return it in uint8."""
        return self.to(tt.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether `data` is on a CUDA device."""
        return bool(self.data.is_cuda)

    def is_pinned(self) -> bool:
        """Return whether `data` is in pinned memory."""
        return bool(self.data.is_pinned())


def invert_permutation(permutation: tt.Tensor | None) -> tt.Tensor | None:
    """Return the inverse of a permutation; None for None.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.utils.rnn import invert_permutation
    >>> invert_permutation(tt.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    positions = tt.arange(permutation.numel(), device=permutation.device)
    return tt.empty_like(permutation).scatter_(0, permutation, positions)


# --- padded and packed -----------------------------------------------------------------------------------------


def pack_padded_sequence(
    input: tt.Tensor,
    lengths: tt.Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack padded sequences of different lengths.

    Parameters
    ----------
    input : Tensor
        Of shape (T, B, *), or (B, T, *) if `batch_first`.
    lengths : Tensor or list of int
        The length of each sequence; a tensor is on the CPU.
    batch_first : bool
        Whether the batch is the first dimension.
    enforce_sorted : bool
        Whether the sequences must be in order, the longest first; otherwise they are sorted here.

    Raises
    ------
    RuntimeError
        If lengths are not in order, not above zero, or not as many as there are sequences.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.utils.rnn import pack_padded_sequence
    >>> padded = tt.tensor([[1, 2, 0], [3, 4, 5]])
    >>> packed = pack_padded_sequence(padded, [2, 3], batch_first=True, enforce_sorted=False)
    >>> packed.data, packed.batch_sizes, packed.sorted_indices
    (tensor([3, 1, 4, 2, 5]), tensor([2, 2, 1]), tensor([1, 0]))
    """
    sizes = tt.as_tensor(lengths, dtype=tt.int64)
    order: tt.Tensor | None = None
    if not enforce_sorted:
        sizes, order = tt.sort(sizes, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    # The kernel reads lengths where the data is; batch sizes are numbers that the host loops over.
    data, batch_sizes = tt.ops._pack_padded_sequence(input, sizes.to(input.device), batch_first)
    return PackedSequence(data, batch_sizes.cpu(), order, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[tt.Tensor, tt.Tensor]:
    """Return packed sequences in one padded tensor, in their original order, and their lengths.

    Parameters
    ----------
    sequence : PackedSequence
        The sequences.
    batch_first : bool
        Whether the result is of shape (B, T, *) instead of (T, B, *).
    padding_value : float
        What stands after the end of shorter sequences.
    total_length : int, optional
        T, if it is to be more than the longest length.

    Raises
    ------
    ValueError
        If `total_length` is less than the longest length.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.utils.rnn import pack_sequence, pad_packed_sequence
    >>> pad_packed_sequence(pack_sequence([tt.tensor([1, 2]), tt.tensor([3])]), batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    longest = sequence.batch_sizes.size(0)
    if total_length is not None and total_length < longest:
        raise ValueError(
            f"Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    data, unsorted = sequence.data, sequence.unsorted_indices
    sizes = sequence.batch_sizes.to(data.device)
    length = longest if total_length is None else total_length
    padded, lengths = tt.ops._pad_packed_sequence(data, sizes, batch_first, padding_value, length)
    lengths = lengths.cpu()
    if unsorted is None:
        return padded, lengths
    # Lengths are on the CPU, so their index has to be there too.
    return padded.index_select(0 if batch_first else 1, unsorted), lengths[unsorted.cpu()]


@overridable
def pad_sequence(
    sequences: tt.Tensor | Iterable[tt.Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> tt.Tensor:
    """Stack sequences of different lengths, padded to the longest one.

    Parameters
    ----------
    sequences : list of Tensor
        Each of shape (L, *), with the same sizes behind the first.
    batch_first : bool
        Whether the result is of shape (B, T, *) instead of (T, B, *).
    padding_value : float
        The value of the elements added to shorter sequences.
    padding_side : str
        Where: "right" or "left".

    Examples
    --------
    >>> import tt
    >>> tt.nn.utils.rnn.pad_sequence([tt.tensor([1, 2]), tt.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    rows = list(sequences.unbind(0) if isinstance(sequences, tt.Tensor) else sequences)
    if not rows:
        raise RuntimeError("received an empty list of sequences")
    for row in rows:
        if not isinstance(row, tt.Tensor):
            raise ArgumentError("pad_sequence", f"sequences are tensors, not {type(row).__name__}")
        if not row.ndim:
            raise DimensionError("pad_sequence", 0, 0)
    rest = tuple(rows[0].shape[1:])
    for row in rows:
        if tuple(row.shape[1:]) != rest:
            raise RuntimeError(
                f"pad_sequence: sequences must have the same sizes behind the first dimension; found "
                f"{[list(r.shape) for r in rows]}"
            )
    longest = max(len(row) for row in rows)
    # F.pad counts dimensions from the last: those behind the length come first.
    gaps = [0] * (2 * len(rest))

    def padded(row: tt.Tensor) -> tt.Tensor:
        missing = longest - len(row)
        sides = (missing, 0) if padding_side == "left" else (0, missing)
        return F.pad(row, [*gaps, *sides], value=padding_value) if missing else row

    return tt.stack([padded(row) for row in rows], 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: tt.Tensor, lengths: tt.Tensor, batch_first: bool = False
) -> list[tt.Tensor]:
    """Return padded sequences as a list without their padding.

    Parameters
    ----------
    padded_sequences : Tensor
        Of shape (T, B, *), or (B, T, *) if `batch_first`.
    lengths : Tensor
        The length of each.
    batch_first : bool
        Whether the batch is the first dimension.

    Examples
    --------
    >>> import tt
    >>> padded = tt.tensor([[1, 2], [3, 0]])
    >>> tt.nn.utils.rnn.unpad_sequence(padded, tt.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(rows.unbind(0), lengths.tolist(), strict=True)]


def pack_sequence(sequences: Iterable[tt.Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths.

    Parameters
    ----------
    sequences : list of Tensor
        Each of shape (L, *), with the same sizes behind the first.
    enforce_sorted : bool
        Whether they must be in order, the longest first; otherwise they are sorted here.

    Examples
    --------
    >>> import tt
    >>> tt.nn.utils.rnn.pack_sequence([tt.tensor([1, 2]), tt.tensor([3])]).data
    tensor([1, 3, 2])
    """
    rows = list(sequences)
    return pack_padded_sequence(pad_sequence(rows), [len(row) for row in rows], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[tt.Tensor]:
    """Return packed sequences as a list, in their original order.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.utils.rnn import pack_sequence, unpack_sequence
    >>> unpack_sequence(pack_sequence([tt.tensor([1, 2]), tt.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
