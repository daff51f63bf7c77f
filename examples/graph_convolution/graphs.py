"""Two real graphs: the friendships of a karate club, and handwritten digits that look alike (see SOURCE.md)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

import numpy as np

import tt
from tt.examples.digits.data import load

__all__ = ["Graph", "digits", "karate_club", "normalised"]


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes, how they are connected, and which class each of them belongs to.

    Attributes
    ----------
    edges : Tensor
        Int64 of shape (2, n): each edge in both directions, none twice.
    features : Tensor
        One row for each node; sparse where most of them are zeros.
    labels : Tensor
        Int64: the class of each node.
    known : Tensor
        Int64: the nodes whose class is known when the network is trained.
    """

    edges: tt.Tensor
    features: tt.Tensor
    labels: tt.Tensor
    known: tt.Tensor

    def __len__(self) -> int:
        return int(self.labels.shape[0])


def karate_club() -> Graph:
    """Return the karate club; only the clubs of the instructor and of the officer are known.

    A member has no features but being that member: the features are the identity matrix.
    """
    pairs, clubs = _table("karate.csv"), _table("karate_clubs.csv")
    edges = tt.from_numpy(np.concatenate([pairs, pairs[:, ::-1]]).T.copy())
    members = len(clubs)
    features = tt.eye(members, dtype=tt.float64).to_sparse_csr()
    return Graph(edges, features, tt.from_numpy(clubs.reshape(members)), tt.tensor([0, members - 1]))


def digits(neighbours: int = 5, known_of_each: int = 5, seed: int = 0) -> Graph:
    """Return 1,797 digits, each connected with those that look most like it; the class of a few digits is known.

    Parameters
    ----------
    neighbours : int
        With how many others each digit is connected, at least.
    known_of_each : int
        How many digits of each class are known.
    seed : int
        Decides which.
    """
    images = load()
    pixels = images.images.to(tt.float64)
    distances = tt.cdist(pixels, pixels)
    distances.diagonal().fill_(float("inf"))
    # Stable: of digits that are equally far the first ones are taken, whichever kernel sorts.
    nearest = tt.argsort(distances, dim=1, stable=True)[:, :neighbours].numpy()
    one = np.repeat(np.arange(len(images)), neighbours)
    both = np.concatenate([np.stack([one, nearest.reshape(-1)]), np.stack([nearest.reshape(-1), one])], 1)
    edges = np.unique(both, axis=1)
    labels = images.labels.numpy()
    rng = np.random.default_rng(seed)
    known = np.concatenate([rng.permutation(np.flatnonzero(labels == c))[:known_of_each] for c in range(10)])
    return Graph(tt.from_numpy(edges), pixels, images.labels, tt.from_numpy(np.sort(known)))


def normalised(graph: Graph, layout: str = "sparse_csr") -> tt.Tensor:
    """Return D^-1/2 (A + I) D^-1/2: the matrix that averages each node with its neighbours.

    Parameters
    ----------
    graph : Graph
        Its edges are the elements of A; D holds the row sums of A + I.
    layout : str
        "sparse_csr", "sparse_csc", "sparse_coo", or "strided" for a dense matrix.
    """
    count = len(graph)
    loops = tt.arange(count)
    places = tt.cat([graph.edges, tt.stack([loops, loops])], 1)
    ones = tt.ones(places.shape[1], dtype=tt.float64)
    degrees = tt.sparse_coo_tensor(places, ones, (count, count)).sum(1).to_dense()
    scale = degrees.rsqrt()
    matrix = tt.sparse_coo_tensor(places, scale[places[0]] * scale[places[1]], (count, count)).coalesce()
    conversions = {
        "sparse_coo": matrix.coalesce, "sparse_csr": matrix.to_sparse_csr, "sparse_csc": matrix.to_sparse_csc,
        "strided": matrix.to_dense,
    }  # fmt: skip
    return conversions[layout]()


def _table(name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    with resources.as_file(resources.files(__name__.rpartition(".")[0]) / name) as path:
        return np.loadtxt(path, delimiter=",", dtype=np.int64, ndmin=2)
