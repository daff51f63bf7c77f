"""Train on both graphs, with the graph as a sparse and as a dense matrix: python -m tt.examples.graph_convolution."""

from __future__ import annotations

import sys

from tt.examples.graph_convolution.graphs import digits, karate_club
from tt.examples.graph_convolution.train import Settings, train

if __name__ == "__main__":
    seeds = [int(word) for word in sys.argv[1:]] or list(range(5))
    sys.stdout.write("graph   nodes  edges  seed  accuracy, sparse  accuracy, dense  s, sparse  s, dense\n")
    for name, graph in (("karate", karate_club()), ("digits", digits())):
        for seed in seeds:
            sparse, dense = (train(graph, Settings(seed, layout)) for layout in ("sparse_csr", "strided"))
            sys.stdout.write(
                f"{name:6}  {len(graph):5}  {graph.edges.shape[1] // 2:5}  {seed:4}  {sparse.accuracy:16.4f}  "
                f"{dense.accuracy:15.4f}  {sparse.seconds:9.2f}  {dense.seconds:8.2f}\n"
            )
            sys.stdout.flush()
