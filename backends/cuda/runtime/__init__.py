"""CUDA features of the process besides computing: streams, graphs, synchronisation, settings."""
