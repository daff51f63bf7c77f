"""tt.utils.cpp_extension: C, C++ and CUDA source compiled into operators while a program runs."""

from __future__ import annotations

from tt.core.errors import CompileError, NoCompilerError
from tt.core.extension.build import include_paths
from tt.core.extension.cache import default_folder
from tt.core.extension.compilers import compiler_problem
from tt.core.extension.inline import load, load_inline
from tt.core.extension.module import Extension

__all__ = [
    "CompileError",
    "Extension",
    "NoCompilerError",
    "compiler_problem",
    "default_folder",
    "include_paths",
    "load",
    "load_inline",
]
