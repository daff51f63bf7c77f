"""CUDA C++ to machine code: the compiler, its cache on disk, extensions and warm-up."""
