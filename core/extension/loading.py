"""One call of `load` or `load_inline`: from source to operators."""

from __future__ import annotations

import ctypes
import keyword
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from tt.core.errors import ArgumentError, CompileError, UnknownNameError, did_you_mean
from tt.core.extension.build import BuildPlan, Unit, build
from tt.core.extension.cache import default_folder
from tt.core.extension.caller import make_caller
from tt.core.extension.compilers import Language
from tt.core.extension.declarations import find_functions
from tt.core.extension.device_source import DeviceFunction, DeviceSource, device_kernels
from tt.core.extension.diagnostics import link_error
from tt.core.extension.generate import Instance, line_directive, wrappers
from tt.core.extension.module import LOADED, Extension
from tt.core.extension.operators import InlineKernel, Operator, by_name, define, specification
from tt.core.extension.types import Function

__all__ = ["ExtensionSource", "Loading", "Options"]

_DEFAULT_DTYPES: Final = ("float32", "float64")
_Value = TypeVar("_Value", str, str | Sequence[str])
_HEADERS: Final[Mapping[Language, str]] = {
    "c": "#include <math.h>\n",
    "c++": "#include <cmath>\n",
}


@dataclass(frozen=True)
class ExtensionSource:
    """A text of the user's; `file` is how messages call it."""

    file: str
    language: Language
    text: str
    path: Path | None = None


@dataclass(frozen=True)
class Options:
    """Build settings, independent of the sources."""

    cflags: tuple[str, ...]
    ldflags: tuple[str, ...]
    include_paths: tuple[str, ...]
    folder: Path | None
    verbose: bool
    implicit_headers: bool


@dataclass
class Loading:
    """One call of `load` or `load_inline`."""

    name: str
    sources: list[ExtensionSource]
    device: DeviceSource | None
    options: Options
    functions: str | Sequence[str] | Mapping[str, str] | None
    register: str | Mapping[str, str] | None
    schema: str | Mapping[str, str] | None
    dtypes: tuple[str, ...] | None
    result: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None
    declared: Mapping[str, list[Function]] = field(default_factory=dict)

    def load(self, loaded_by: str) -> Extension:
        """Compile the sources if needed, and register the operators: all of them or none."""
        if not self.name.isidentifier() or keyword.iskeyword(self.name):
            raise ArgumentError(
                "load_inline", f"the name of an extension is an identifier, not {self.name!r}"
            )
        if self.device is not None:
            # Before anything is compiled, so that a missing device is reported at once.
            self.device.require()
        self.declared = by_name([f for s in self.sources for f in find_functions(s.text, s.file)])
        on_device = by_name(self.device.functions) if self.device is not None else {}
        docs = self._wanted(on_device)
        # A function that is launched by hand is no operator, unless another source has it, too.
        operators = {one: self._operator(one, on_device, doc) for one, doc in docs.items() if not _launched(
            on_device.get(one, ())) or one in self.declared}  # fmt: skip
        on_devices = {
            one: device_kernels(self.device, operator, on_device[one])
            for one, operator in operators.items()
            if one in on_device and self.device is not None
        }
        library, kernels = self._compile({one: op for one, op in operators.items() if one in self.declared})
        for one, compiled in on_devices.items():
            kernels[one] += compiled
        extension = Extension(self.name, loaded_by, library)
        if self.device is not None:
            for one in docs:
                if one not in operators:
                    extension.launched[one] = DeviceFunction(self.device, on_device[one][0])
        # Only when everything has compiled: a mistake in a cell leaves the earlier extension in place.
        self._replace_earlier(loaded_by)
        try:
            for one, operator in operators.items():
                extension.functions[one] = define(operator, kernels[one])
        # Some operators without the others would be left in the registry, and a second attempt find them taken.
        except BaseException:
            extension.remove()
            raise
        extension.bind()
        LOADED[self.name] = extension
        return extension

    def _replace_earlier(self, loaded_by: str) -> None:
        """Remove the operators of the same extension, loaded before from the same module: a cell that runs again."""
        earlier = LOADED.get(self.name)
        if earlier is not None and earlier.loaded_by == loaded_by:
            earlier.remove()

    # --- which functions -------------------------------------------------------------------------------------------

    def _wanted(self, on_device: Mapping[str, list[Function]]) -> dict[str, str]:
        """Return the functions that become operators, with their documentation."""
        known = {**on_device, **self.declared}
        if self.functions is None:
            declared = {
                name: "" for name, all_of in known.items()
                # A static function is the source's own, and a mere declaration may be another library's.
                if any(f.defined and not f.static for f in all_of)
            }  # fmt: skip
            if not declared:
                raise CompileError(
                    self.name,
                    "the sources define no function that could become an operator",
                    hint="a function over numbers or tt_tensor *, for instance: float twice(float x) { return 2 * x; }",
                )
            return declared
        listed = [self.functions] if isinstance(self.functions, str) else self.functions
        requested = dict(listed) if isinstance(listed, Mapping) else dict.fromkeys(listed, "")
        for name in requested:
            if name not in known:
                raise CompileError(
                    self.name,
                    f"no source declares a function {name!r} with types that can be passed"
                    f"{did_you_mean(name, known)}\n"
                    f"  declared: {', '.join(known) or '(none)'}",
                    hint=self._how_to_declare(name),
                )
        return requested

    def _how_to_declare(self, name: str) -> str:
        if any(word in source.text for source in self.sources for word in ("torch::Tensor", "at::Tensor")):
            return "tt_tensor * of <tt/extension.h> instead of PyTorch's Tensor"
        return f"declare it in the source, for instance: float {name}(float x);"

    def _operator(self, name: str, on_device: Mapping[str, list[Function]], doc: str) -> Operator:
        overloads = self.declared.get(name) or on_device[name]
        result = self._of("result", self.result, name) or ""
        templates = any(f.template for f in overloads)
        dtypes = self.dtypes if self.dtypes is not None else _DEFAULT_DTYPES if templates else ()
        return Operator.make(
            self._of("register", self.register, name) or f"{self.name}::{name}",
            overloads,
            dtypes=dtypes,
            schema=self._of("schema", self.schema, name),
            result=result if isinstance(result, str) else tuple(result),
            doc=doc,
        )

    def _of(self, option: str, value: _Value | Mapping[str, _Value] | None, name: str) -> _Value | None:
        """Return an option's value for a function."""
        if value is not None and not isinstance(value, Mapping):
            listed = [self.functions] if isinstance(self.functions, str) else self.functions
            if (listed is not None and len(listed) > 1) or (listed is None and len(self.declared) > 1):
                raise ArgumentError(
                    "load_inline",
                    f"{option} has one value for several functions",
                    hint=f"{option}={{{name!r}: ...}}",
                )
            return value
        if value is None:
            return None
        unknown = [one for one in value if one not in self.declared and (
            self.device is None or all(one != f.name for f in self.device.functions))]  # fmt: skip
        if unknown:
            raise UnknownNameError("function", unknown[0], self.declared, note=f"it is a key of {option}=")
        return value.get(name)

    # --- compiling -------------------------------------------------------------------------------------------------

    def _compile(
        self, operators: Mapping[str, Operator]
    ) -> tuple[Path | None, dict[str, list[InlineKernel]]]:
        kernels: dict[str, list[InlineKernel]] = {name: [] for name in operators}
        if not self.sources:
            return None, _Defaulting(kernels)
        instances: list[tuple[str, Instance]] = []
        for name, operator in operators.items():
            instances += [(name, instance) for instance in operator.instances(len(instances))]
        plan = self._plan([instance for _, instance in instances])
        path = build(plan, self.options.folder or default_folder() / self.name, verbose=self.options.verbose)
        try:
            library = ctypes.CDLL(str(path))
        except OSError as error:
            raise link_error(self.name, str(error), list(self.declared), []) from error
        for name, instance in instances:
            entry = ctypes.cast(getattr(library, instance.symbol), ctypes.c_void_p).value or 0
            operator = operators[name]
            call = make_caller(entry, specification(operator, instance))
            kernels[name].append(InlineKernel("cpu", operator.served(instance), call))
        return path, _Defaulting(kernels)

    def _plan(self, instances: Sequence[Instance]) -> BuildPlan:
        units: list[Unit] = []
        for files in self._grouped():
            language = files[0].language
            # Each unit holds the entries of its own functions: static ones are visible there only.
            here = [i for i in instances if i.function.file in {s.file for s in files}]
            folder = files[0].path.parent if files[0].path is not None else None
            # The runtime is defined once in a library, in its first unit.
            text = self._text(files, language) + _runtime(first=not units) + wrappers(here, language)
            units.append(Unit(language, text, str(folder or "")))
        return BuildPlan(
            self.name,
            units,
            self.options.cflags,
            self.options.ldflags,
            self.options.include_paths,
            {s.file: s.text for s in self.sources},
            {str(s.path): s.file for s in self.sources if s.path is not None},
            list(self.declared),
        )

    def _grouped(self) -> list[list[ExtensionSource]]:
        """Return the compilation units: texts of one language together, and each file separately."""
        groups: dict[str, list[ExtensionSource]] = {}
        for source in self.sources:
            # Files are units of their own, as for any compiler; texts of one language see each other.
            groups.setdefault(source.language if source.path is None else source.file, []).append(source)
        return list(groups.values())

    def _text(self, files: Sequence[ExtensionSource], language: Language) -> str:
        lines = [line_directive(1, "tt/implicit headers")]
        if self.options.implicit_headers:
            lines += [_HEADERS[language], "#include <tt/extension.h>"]
        for source in files:
            # The text itself and not an #include of its file, so that the compiled text is the one that was parsed.
            lines += [
                line_directive(1, source.file if source.path is None else str(source.path)),
                source.text,
            ]
        return "\n".join(lines) + "\n"


def _runtime(first: bool) -> str:
    """Return what comes behind the user's text and before the entries."""
    lines = [line_directive(1, "tt/generated"), "#include <tt/entry.h>"]
    lines += ["#ifdef __cplusplus", "#include <exception>", "#endif"]
    lines += ["#include <tt/runtime.h>"] if first else []
    return "\n".join(lines) + "\n"


def _launched(functions: Sequence[Function]) -> bool:
    return any(f.launched for f in functions)


class _Defaulting(dict[str, list[InlineKernel]]):
    """Kernels by function; a function that is only on a device has none yet."""

    def __missing__(self, name: str) -> list[InlineKernel]:
        return self.setdefault(name, [])
