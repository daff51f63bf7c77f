"""A graph convolutional network, with the graph as a sparse tensor."""
