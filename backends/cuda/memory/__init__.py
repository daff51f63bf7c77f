"""The memory of CUDA devices: allocation, statistics, snapshots and copies."""
