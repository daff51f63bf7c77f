"""The graph convolution tells the classes of nodes, with sparse and dense matrices alike."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tt
from tt.examples.graph_convolution.graphs import Graph, digits, karate_club, normalised
from tt.examples.graph_convolution.train import Settings, train

SEEDS = range(5)
LAYOUTS = ("sparse_csr", "sparse_csc", "sparse_coo", "strided")


@pytest.fixture(scope="module")
def look_alikes() -> Graph:
    return digits()


@pytest.mark.torch  # comes with networkx
def test_the_karate_club_is_that_of_networkx() -> None:
    networkx = pytest.importorskip("networkx")
    expected, graph = networkx.karate_club_graph(), karate_club()
    found = {tuple(edge) for edge in graph.edges.t().tolist()}
    assert found == {edge for pair in expected.edges for edge in (pair, pair[::-1])}
    clubs = [expected.nodes[member]["club"] == "Officer" for member in range(34)]
    assert graph.labels.tolist() == clubs
    assert graph.known.tolist() == [0, 33]


def test_the_digits_are_connected_with_their_nearest_neighbours(look_alikes: Graph) -> None:
    one, other = look_alikes.edges.numpy()
    pixels = look_alikes.features.numpy()
    squares = (pixels**2).sum(1)
    distances = squares[:, None] + squares - 2 * pixels @ pixels.T
    np.fill_diagonal(distances, np.inf)
    fifth = np.sort(distances, axis=1)[:, 4] + 1e-9
    near = distances[one, other]
    assert ((near <= fifth[one]) | (near <= fifth[other])).all()
    assert np.bincount(one).min() == 5
    assert set(zip(one.tolist(), other.tolist(), strict=True)) == set(
        zip(other.tolist(), one.tolist(), strict=True)
    )
    assert len(look_alikes.known) == 50
    assert np.bincount(look_alikes.labels[look_alikes.known].numpy()).tolist() == [5] * 10


def test_the_matrix_averages_neighbourhoods_in_every_layout() -> None:
    graph = karate_club()
    dense = np.zeros((34, 34))
    dense[tuple(graph.edges.numpy())] = 1
    dense += np.eye(34)
    scale = 1 / np.sqrt(dense.sum(1))
    for layout in LAYOUTS:
        found = normalised(graph, layout)
        assert found.layout.name == layout
        np.testing.assert_allclose(found.to_dense().numpy(), scale[:, None] * dense * scale)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_karate_club_is_told_as_well_with_sparse_matrices_as_with_a_dense_one(seed: int) -> None:
    graph = karate_club()
    results = [train(graph, Settings(seed, layout)) for layout in LAYOUTS]
    for result in results[:-1]:
        np.testing.assert_allclose(result.scores.numpy(), results[-1].scores.numpy(), rtol=1e-6, atol=1e-9)
        assert result.accuracy == results[-1].accuracy
    assert results[0].accuracy > 0.9


@pytest.mark.exhaustive
def test_the_digits_are_told_as_well_with_a_sparse_matrix_as_with_a_dense_one(look_alikes: Graph) -> None:
    for seed in SEEDS:
        assert train(look_alikes, Settings(seed)).accuracy > 0.8
    sparse, dense = (
        train(look_alikes, Settings(0, layout, epochs=10)) for layout in ("sparse_csr", "strided")
    )
    np.testing.assert_allclose(sparse.scores.numpy(), dense.scores.numpy(), rtol=1e-6, atol=1e-9)
    assert sparse.accuracy == dense.accuracy


def test_without_edges_the_classes_of_the_karate_club_cannot_be_told() -> None:
    graph = karate_club()
    alone = Graph(tt.zeros(2, 0, dtype=tt.int64), graph.features, graph.labels, graph.known)
    assert np.mean([train(alone, Settings(seed)).accuracy for seed in SEEDS]) < 0.75


@pytest.mark.exhaustive
def test_the_program_prints_a_line_for_each_graph_and_seed() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "import tt.examples.graph_convolution.train as t, runpy, sys\n"
         "t.Settings.__init__.__defaults__ = (0, 'sparse_csr', 4, 1, 0.02, 5e-4)\n"
         "sys.argv = ['graph_convolution', '3']\n"
         "runpy.run_module('tt.examples.graph_convolution', run_name='__main__')"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    head, karate, images = ran.stdout.splitlines()
    assert head.split()[:4] == ["graph", "nodes", "edges", "seed"]
    assert karate.split()[:4] == ["karate", "34", "78", "3"]
    assert images.split()[:4] == ["digits", "1797", "6309", "3"]
