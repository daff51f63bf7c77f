"""What a process does with CUDA devices besides computing: streams, graphs, waiting, switches."""
