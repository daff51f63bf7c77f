"""C, C++ and CUDA source compiled into kernels while a program runs; public as `tt.utils.cpp_extension`."""
