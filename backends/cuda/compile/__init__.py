"""CUDA C++ to machine code: the compiler, its cache on disk, extensions and what is compiled ahead."""
