"""`load_inline` and `load`, as users call them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tt.core.errors import ArgumentError
from tt.core.extension.compilers import Language
from tt.core.extension.device_source import DeviceSource
from tt.core.extension.loading import ExtensionSource, Loading, Options
from tt.core.extension.module import Extension
from tt.core.types.dtype import to_dtype

__all__ = ["load", "load_inline"]

_SUFFIXES: Final[Mapping[str, Language]] = {
    ".c": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".C": "c++",
}  # fmt: skip


def _options(
    cflags: Any, ldflags: Any, include_paths: Any, build_directory: Any, verbose: bool, headers: bool
) -> Options:
    """Return how to build, with paths that do not depend on the current folder."""
    return Options(
        tuple(cflags or ()),
        tuple(ldflags or ()),
        tuple(os.path.abspath(path) for path in include_paths or ()),
        None if build_directory is None else Path(build_directory).absolute(),
        verbose,
        headers,
    )


def load_inline(
    name: str,
    cpp_sources: str | Sequence[str] = (),
    cuda_sources: str | Sequence[str] | None = None,
    functions: str | Sequence[str] | Mapping[str, str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str | os.PathLike[str]] | None = None,
    build_directory: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    no_implicit_headers: bool = False,
    *,
    c_sources: str | Sequence[str] = (),
    register: str | Mapping[str, str] | None = None,
    schema: str | Mapping[str, str] | None = None,
    dtypes: Sequence[Any] | None = None,
    result: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
) -> Extension:
    """Compile C++, C or CUDA source and make its functions operators.

    A function over numbers is lifted over the elements of tensors, with broadcasting, strides and promotion; a function
    over `tt_tensor *` gets tensors as they are.  The same source is compiled once on a machine.

    Parameters
    ----------
    name : str
        The name of the extension, which is also the namespace of its operators.
    cpp_sources : str or sequence of str
        C++ source.
    cuda_sources : str or sequence of str, optional
        CUDA source, compiled at the first call on a CUDA device.
    functions : sequence of str, or dict, optional
        The functions that become operators, or name -> documentation; by default all that are defined, are not
        static, and have types that can be passed.
    extra_cflags, extra_cuda_cflags, extra_ldflags : sequence of str, optional
        Options for compilers and linker.
    extra_include_paths : sequence of path, optional
        Folders of headers.
    build_directory : path, optional
        Where the compiled library is kept; by default in the user's caches, or TT_EXTENSIONS_DIR.
    verbose : bool
        Print commands and their output, with warnings, to standard error.
    with_cuda : bool, optional
        True: raise if no CUDA device can be used.  False: leave `cuda_sources` out.
    no_implicit_headers : bool
        Include nothing before the sources: neither <tt/extension.h> nor <cmath>.
    c_sources : str or sequence of str
        C source.
    register : str or dict, optional
        The name of the operator, "namespace::name", of the one function; or function -> name.
    schema : str or dict, optional
        The signature without the name, "(Tensor x, float by=1.0) -> Tensor", instead of the one that follows from the
        types; or function -> signature.
    dtypes : sequence of dtype, optional
        The dtypes for which templates are compiled (float32 and float64), or that functions over `tt_tensor *` serve
        (all).
    result : str, sequence of str, or dict, optional
        The dtype of the results where it does not follow: "same", "int64", ..., or one for each of several results; or
        function -> rule, for instance ``{"places": "int64", "maximum": ("same", "int64")}``.

    Returns
    -------
    Extension
        Its attributes are the operators: call them, add to them with `.backward` and `.fake`; `.remove()` undoes all.

    Raises
    ------
    CompileError
        When the source does not compile or link, with the lines of the source.
    NoCompilerError
        If no compiler is found.
    DeviceError
        If `with_cuda` is true and no CUDA device is found.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.cpp_extension import load_inline
    >>> source = "float squares(float x, float y) { return x * x + y * y; }"
    >>> if tt.utils.cpp_extension.compiler_problem() is None:
    ...     module = load_inline("doc_squares", source)
    ...     assert module.squares(tt.tensor([3.0, 6.0]), 4.0).tolist() == [25.0, 52.0]
    ...     module.remove()
    """
    texts: dict[str, tuple[Language, str]] = {
        **{
            f"{name}:cpp_sources[{i}]": ("c++", text)
            for i, text in enumerate(_listed("cpp_sources", cpp_sources))
        },
        **{f"{name}:c_sources[{i}]": ("c", text) for i, text in enumerate(_listed("c_sources", c_sources))},
    }
    sources = [ExtensionSource(file, language, text) for file, (language, text) in texts.items()]
    device = None
    # `with_cuda=False` leaves CUDA sources out, as in PyTorch.
    if cuda_sources is not None and with_cuda is not False:
        contents = {
            f"{name}:cuda_sources[{i}]": text for i, text in enumerate(_listed("cuda_sources", cuda_sources))
        }
        # PyTorch's keyword names the device; nothing else here does.
        device = DeviceSource(
            "cuda", name, contents, tuple(extra_cuda_cflags or ()), required=with_cuda is True
        )
    return Loading(
        name,
        sources,
        device,
        _options(
            extra_cflags,
            extra_ldflags,
            extra_include_paths,
            build_directory,
            verbose,
            not no_implicit_headers,
        ),
        functions,
        register,
        schema,
        _dtype_names(dtypes),
        result,
    ).load(_caller())


def load(
    name: str,
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str | os.PathLike[str]] | None = None,
    build_directory: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    *,
    functions: str | Sequence[str] | Mapping[str, str] | None = None,
    register: str | Mapping[str, str] | None = None,
    schema: str | Mapping[str, str] | None = None,
    dtypes: Sequence[Any] | None = None,
    result: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
) -> Extension:
    """Compile files of C++ (.cpp, .cc, .cxx), C (.c) and CUDA (.cu) and make their functions operators.

    Parameters and errors are those of `load_inline`; the files need their own includes, also of <tt/extension.h>.

    Parameters
    ----------
    name : str
        The name of the extension, which is also the namespace of its operators.
    sources : path or sequence of path
        The files.
    extra_cflags, extra_cuda_cflags, extra_ldflags, extra_include_paths, build_directory, verbose, with_cuda
        As of `load_inline`.
    functions, register, schema, dtypes, result
        As of `load_inline`.

    Raises
    ------
    ArgumentError
        When a file cannot be read or has another suffix.
    CompileError, NoCompilerError, DeviceError
        As `load_inline`.

    Examples
    --------
    >>> from tt.utils.cpp_extension import load
    >>> load("doc_files", ["missing.cpp"])
    Traceback (most recent call last):
        ...
    tt.core.errors.ArgumentError: load(): the source missing.cpp cannot be read: No such file or directory
    """
    files: list[str | os.PathLike[str]] = (
        [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    )
    extension_sources, cuda = [], {}
    for file in files:
        shown, path = os.fspath(file), Path(file).absolute()
        try:
            # Source of any encoding passes: the compiler decides what it means.
            text = path.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise ArgumentError("load", f"the source {shown} cannot be read: {error.strerror}") from error
        if path.suffix == ".cu":
            cuda[shown] = text
        elif path.suffix in _SUFFIXES:
            extension_sources.append(ExtensionSource(shown, _SUFFIXES[path.suffix], text, path))
        else:
            known = ", ".join([*_SUFFIXES, ".cu"])
            raise ArgumentError("load", f"{shown} has none of the suffixes of sources: {known}")
    device = None
    if cuda and with_cuda is not False:
        device = DeviceSource("cuda", name, cuda, tuple(extra_cuda_cflags or ()), required=with_cuda is True)
    return Loading(
        name,
        extension_sources,
        device,
        _options(extra_cflags, extra_ldflags, extra_include_paths, build_directory, verbose, False),
        functions,
        register,
        schema,
        _dtype_names(dtypes),
        result,
    ).load(_caller())


def _listed(option: str, sources: str | Sequence[str]) -> list[str]:
    texts = [sources] if isinstance(sources, str) else sources
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise ArgumentError("load_inline", f"{option} is source as a str or a list of them, not {sources!r}")
    return list(texts)


def _dtype_names(dtypes: Sequence[Any] | None) -> tuple[str, ...] | None:
    if dtypes is None:
        return None
    listed = [dtypes] if isinstance(dtypes, str) else list(dtypes)
    return tuple(to_dtype(one).name for one in listed)


def _caller() -> str:
    """Return the module that called `load` or `load_inline`."""
    # Two frames up: `load` or `load_inline`, and who called it.
    return str(sys._getframe(2).f_globals.get("__name__", ""))
