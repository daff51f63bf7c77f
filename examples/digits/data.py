"""The handwritten digits of the UCI Machine Learning Repository (see SOURCE.md)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

import numpy as np

import tt

__all__ = ["Digits", "load", "split"]


@dataclass(frozen=True, slots=True)
class Digits:
    """Images and the digits that they show.

    Attributes
    ----------
    images : Tensor
        Float32 of shape (n, 64): 8x8 pixels, row by row, from 0 (white) to 1 (black).
    labels : Tensor
        Int64 of shape (n,), from 0 to 9.
    """

    images: tt.Tensor
    labels: tt.Tensor

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    def at(self, index: tt.Tensor) -> Digits:
        """Return the digits at some positions, or where a mask is true."""
        return Digits(self.images[index], self.labels[index])


def load() -> Digits:
    """Return all 1,797 digits in the order of the file."""
    file = resources.files(__name__.rpartition(".")[0]) / "digits.csv.gz"
    with resources.as_file(file) as path:
        table = np.loadtxt(path, delimiter=",", dtype=np.float32)
    return Digits(tt.from_numpy(table[:, :64] / 16), tt.from_numpy(table[:, 64].astype(np.int64)))


def split(digits: Digits, *, shuffle_labels: bool = False) -> tuple[Digits, Digits]:
    """Return four fifths for training and one fifth to be held out, drawn at random.

    Parameters
    ----------
    digits : Digits
        What to divide.
    shuffle_labels : bool
        Give the labels of the training part to images at random: nothing can then be learned, and an accuracy
        far from one in ten would show that the held-out part leaks into the training.
    """
    order = permutation(len(digits))
    held_out = len(digits) // 5
    train, test = digits.at(order[held_out:]), digits.at(order[:held_out])
    if shuffle_labels:
        train = Digits(train.images, train.labels[permutation(len(train))])
    return train, test


def permutation(count: int) -> tt.Tensor:
    """Return the numbers below `count` in random order."""
    return tt.rand(count).sort().indices
