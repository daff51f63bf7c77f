"""The build hook: lays the repository out as the package tt, and compiles the hot modules and native kernels.

Import names are `tt.` + path, except for `api/`, whose entries are the root of the package.  A wheel gets copies under
`tt/`; an editable install gets a folder of symbolic links, `.editable/tt`, that its .pth file points to.

What follows from ops.yaml and is not committed, the snapshot and the type stubs, is made first, in the folders
themselves: a source distribution holds it, too.  The indices of families are made for wheels alone: in a checkout the
sources change, and the first process makes an index that notices.

The environment variable TT_BUILD says whether the hot modules, which pyproject.toml lists, and the native kernels
are compiled: `auto`, the default, if a C compiler is there; `interpreted` never; `compiled` always, failing if it
cannot be done; `native` compiles the native kernels alone.  A wheel takes them from the package that TT_LIBRARIES
names, the editable one of a checkout, for instance, if all that lies there was compiled from the same sources.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "tt"
ROOT_FOLDER = "api"
FOLDERS = ("core", "operators", "testing", "backends", "plugins", "cli", "examples")
DATA_FILES = ("ops.yaml",)
EDITABLE = ".editable"
CHOICES = ("auto", "compiled", "native", "interpreted")
LEFT_OUT = (".so", ".pyd", ".pyc", ".o")
DIRECTIVES = {
    "language_level": 3,
    "binding": True,
    "embedsignature": True,
    "embedsignature.format": "python",
    # Any attribute may be None in an object that no constructor filled; 0.5 % more instructions, and never a crash.
    "nonecheck": True,
    "annotation_typing": False,  # the C types are those of the .pxd, never those of Python annotations
}

# With -O1 calls take 5 % more instructions; with -O3 up to 1 % fewer, and compiling takes half as long again.
HOT_FLAGS = ("-O2", "-g0")

TRANSLATE = """
import json, sys
from Cython.Build import cythonize
from setuptools import Extension
names, directives = json.loads(sys.argv[1])
try:
    cythonize(
        [Extension(name, [name.replace(".", "/") + ".py"]) for name in names],
        include_path=["."], compiler_directives=directives, quiet=True,
    )
except Exception as error:
    first = (str(error).strip().splitlines() or [""])[0]
    sys.exit(f"{type(error).__name__}: {first}")
"""


class NotCompiledError(Exception):
    """Why the hot modules stay interpreted, in one line."""


class LayoutHook(BuildHookInterface[Any]):
    """Fills the wheel, or the folder of links of an editable install."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it builds a target."""
        root = Path(self.root)
        make_generated(root)
        if self.target_name != "wheel":
            return
        editable = version == "editable"
        choice = chosen()
        hot = hot_modules(root, self.config.get("hot-modules", []))
        building = building_module(root)
        native = building.native_modules(root) if building else {}
        # Removed in `finalize`: hatchling reads the files of a wheel after this method has returned.
        self.scratch = tempfile.TemporaryDirectory(prefix="tt-build-")
        scratch = Path(self.scratch.name)
        if editable:
            withdraw(
                root, lay_out_links(root), hot, reason="the build of the compiled modules did not finish"
            )
        # Native kernels and hot modules are compiled in the threads of one pool: no processor waits for the last of one
        # kind before the first of the other.
        pool = ThreadPoolExecutor(os.cpu_count())
        try:
            self.build(root, editable, choice, hot, native, building, scratch, pool, build_data)
        finally:
            pool.shutdown(cancel_futures=True)

    def build(
        self, root: Path, editable: bool, choice: str, hot: dict[str, Path], native: dict[str, Path],
        building: ModuleType | None, scratch: Path, pool: Executor, build_data: dict[str, Any],
    ) -> None:  # fmt: skip
        """Compile, and lay the results out."""
        package = root / EDITABLE / PACKAGE
        given = None if editable else given_libraries()
        finish = self.start(root, hot, choice, given, scratch, pool)
        if editable:
            if building:
                self.compile_native(choice, building, lambda: building.build_in_place(root, package, native, pool=pool),
                                    lambda reason: building.withdraw(package, native, reason))  # fmt: skip
            libraries, record = finish()
            for name, library in libraries.items():
                shutil.copyfile(library, hot[name].parent / library.name)
            write_record(package / compiled_module(root).RECORD, record)
            return
        records, libraries = {}, {}
        if building:
            libraries, records[building.RECORD] = self.compile_native(
                choice, building,
                lambda: (given and building.current(given, native))
                or building.compile_native(native, scratch / "native", pool=pool),
                lambda reason: ({}, {"reason": reason, "modules": {}}),
            )  # fmt: skip
            # Reading a megabyte of C in each process of an installation would find no change.
            native_record = records[building.RECORD]
            native_record["modules"] = dict.fromkeys(native_record["modules"], "")
        found, records[compiled_module(root).RECORD] = finish()
        libraries |= found
        include = {str(source): f"{PACKAGE}/{place}" for place, source in package_files(root)}
        for name, content in records.items():
            write_record(scratch / name, content)
            include[str(scratch / name)] = f"{PACKAGE}/{name}"
        include |= family_indices(root, self.config.get("family-indices", []), scratch / "indices")
        for name, library in libraries.items():
            include[str(library)] = "/".join([*name.split(".")[:-1], library.name])
        build_data["force_include"].update(include)
        if libraries:
            build_data["infer_tag"] = True
            build_data["pure_python"] = False

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called by hatchling when the target is built."""
        if self.target_name == "wheel":
            self.scratch.cleanup()

    def start(
        self, root: Path, hot: dict[str, Path], choice: str, given: Path | None, scratch: Path, pool: Executor
    ) -> Callable[[], tuple[dict[str, Path], dict[str, Any]]]:
        """Start to compile the hot modules as chosen, unless they are given; the returned function waits for them.

        It returns the libraries and the record that `tt.core.compiled` reads.
        """
        failed, modules = None, None
        try:
            if choice in ("interpreted", "native"):
                raise NotCompiledError(f"built with TT_BUILD={choice}")
            found = given and current(root, hot, given)
            if found:
                return lambda: found
            modules = HotModules(root, hot, scratch, pool)
        except NotCompiledError as reason:
            failed = reason

        def finish() -> tuple[dict[str, Path], dict[str, Any]]:
            reason = failed
            if modules is not None:
                try:
                    return modules.finish()
                except NotCompiledError as error:
                    reason = error
            if choice == "compiled":
                raise SystemExit(f"tt: TT_BUILD=compiled, but {reason}") from reason
            if choice == "auto":
                self.app.display_warning(f"tt: the hot modules stay interpreted: {reason}")
            return {}, {"reason": str(reason), "modules": {}}

        return finish

    def compile_native(
        self, choice: str, building: ModuleType, build: Callable[[], Any], leave: Callable[[str], Any]
    ) -> Any:
        """Compile the native kernels as chosen, with `build`; or do what `leave` does where they stay uncompiled."""
        try:
            if choice == "interpreted":
                raise building.NotBuiltError("built with TT_BUILD=interpreted")
            return build()
        except building.NotBuiltError as reason:
            if choice in ("compiled", "native"):
                raise SystemExit(f"tt: TT_BUILD={choice}, but {reason}") from reason
            if choice == "auto":
                self.app.display_warning(f"tt: NumPy serves instead of native kernels: {reason}")
            return leave(str(reason))


# --- the layout of the package ---


def chosen() -> str:
    """Return the value of TT_BUILD."""
    choice = os.environ.get("TT_BUILD") or "auto"
    if choice not in CHOICES:
        raise SystemExit(f"tt: TT_BUILD={choice!r} is none of {', '.join(CHOICES)}")
    return choice


def given_libraries() -> Path | None:
    """Return the package that TT_LIBRARIES names."""
    given = os.environ.get("TT_LIBRARIES")
    if given and not Path(given).is_dir():
        raise SystemExit(f"tt: TT_LIBRARIES={given!r} is no folder")
    return Path(given) if given else None


def hot_modules(root: Path, paths: list[str]) -> dict[str, Path]:
    """Map the import names of the hot modules to their sources."""
    return {import_name(path): root / path for path in paths if (root / path).is_file()}


def import_name(path: str) -> str:
    """Return the import name of a module at a path in the repository."""
    return ".".join([PACKAGE, *Path(path.removeprefix(f"{ROOT_FOLDER}/")).with_suffix("").parts])


def entries(root: Path) -> dict[str, Path]:
    """Map the names directly under the package to their files and folders."""
    found = {name: root / name for name in (*FOLDERS, *DATA_FILES) if (root / name).exists()}
    for source in sorted((root / ROOT_FOLDER).iterdir()):
        if source.name.startswith((".", "__pycache__")) or source.suffix in LEFT_OUT:
            continue
        # Python's cache keeps the folder of a package that has moved, which git removes only when it is empty.
        if source.is_dir() and [child.name for child in source.iterdir()] == ["__pycache__"]:
            continue
        if source.name in found:
            raise ValueError(
                f"{source.relative_to(root)} and {source.name} both claim the name {PACKAGE}.{source.name}"
            )
        found[source.name] = source
    return found


def package_files(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield each file of the package: its path under `tt/`, and where it lies."""
    for name, entry in entries(root).items():
        if entry.is_file():
            yield name, entry
            continue
        for folder, subfolders, files in os.walk(entry):
            subfolders[:] = sorted(sub for sub in subfolders if not sub.startswith((".", "__pycache__")))
            for file in sorted(files):
                source = Path(folder, file)
                if not file.startswith(".") and source.suffix not in LEFT_OUT:
                    yield f"{name}/{source.relative_to(entry).as_posix()}", source


def compiled_module(root: Path) -> ModuleType:
    """Load core/compiled.py, which defines the record and the digest, without importing tt."""
    return module_at("_tt_compiled", root / "core" / "compiled.py")


def building_module(root: Path) -> ModuleType | None:
    """Load backends/cpu/native/build.py, which compiles the native kernels, without importing tt."""
    folder = root / "backends" / "cpu" / "native"
    if not (folder / "build.py").is_file():
        return None
    module_at("_tt_native", folder / "__init__.py")
    module_at("_tt_native.extensions", folder / "extensions.py")  # which the other imports
    return module_at("_tt_native.build", folder / "build.py")


def module_at(name: str, path: Path) -> ModuleType:
    """Load a module by its path."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write the record in one step, so that no process reads half of it."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def make_generated(root: Path) -> None:
    """Have the snapshot of ops.yaml and the stubs made; mistakes of ops.yaml are shown, all of them."""
    script = root / "core" / "schema" / "make.py"
    if not script.is_file():
        return
    done = subprocess.run([sys.executable, "-P", str(script)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"tt: snapshot and stubs of ops.yaml cannot be made\n{done.stderr}")


def family_indices(root: Path, paths: list[str], folder: Path) -> dict[str, str]:
    """Have the indices of families made; return the files that were written, and their places in the wheel."""
    modules = [import_name(path) for path in paths if (root / path).is_file()]
    if not modules:
        return {}
    script = root / "core" / "schema" / "make.py"
    command = [sys.executable, "-P", str(script), "families", str(folder), *modules]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"tt: the indices of families cannot be made\n{done.stderr}")
    return {
        str(file): f"{PACKAGE}/{file.relative_to(folder).as_posix()}"
        for file in sorted(folder.rglob("*.json"))
    }


# --- editable installs ---


def lay_out_links(root: Path) -> Path:
    """Make `.editable/tt` a folder with a symbolic link for each entry of the package."""
    package = root / EDITABLE / PACKAGE
    package.mkdir(parents=True, exist_ok=True)
    wanted = {name: Path(os.path.relpath(source, package)) for name, source in entries(root).items()}
    for link in package.iterdir():
        if link.is_symlink() and link.readlink() != wanted.get(link.name):
            link.unlink()
    for name, target in wanted.items():
        if not (package / name).is_symlink():
            (package / name).symlink_to(target)
    return package


def withdraw(root: Path, package: Path, hot: dict[str, Path], reason: str) -> None:
    """Remove what an earlier build compiled; the record goes first, so that no process mixes old and new."""
    write_record(
        package / compiled_module(root).RECORD, {"reason": reason, "modules": dict.fromkeys(hot, "")}
    )
    for source in hot.values():
        for library in source.parent.glob(f"{source.stem}.*"):
            if library.suffix in (".so", ".pyd"):
                library.unlink()


# --- compiling ---


def current(root: Path, hot: dict[str, Path], given: Path) -> tuple[dict[str, Path], dict[str, Any]] | None:
    """Return the libraries of a package and their record, if all of them were compiled from the sources in `root`."""
    compiled = compiled_module(root)
    if not compiled.examine(str(given)).active:
        return None
    record = json.loads((given / compiled.RECORD).read_text(encoding="utf-8"))
    if record["modules"] != {name: compiled.digest(str(source)) for name, source in hot.items()}:
        return None
    libraries = {
        name: compiled.source_of(name, str(given)).removesuffix(".py") + record["suffix"] for name in hot
    }
    return {name: Path(library) for name, library in libraries.items()}, record


class HotModules:
    """The hot modules while they are compiled, in a copy laid out as the package."""

    def __init__(self, root: Path, hot: dict[str, Path], scratch: Path, pool: Executor) -> None:
        if not hot:
            raise NotCompiledError("no hot modules are listed")
        try:
            import Cython
            import setuptools  # noqa: F401
        except ImportError as error:
            raise NotCompiledError(f"{error.name} is not installed") from error
        need_compiler(root, scratch)
        self.root, self.hot, self.scratch, self.pool = root, hot, scratch, pool
        self.tree = tree = scratch / "source"
        try:
            for place, source in package_files(root):
                if source.name == "__init__.py" or source.suffix == ".pxd" or source in hot.values():
                    copy = tree / PACKAGE / place
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(source, copy)
        except OSError as error:
            raise NotCompiledError(full_disk(root, scratch) or str(error)) from error
        compiled = compiled_module(root)
        self.record = {
            "cython": Cython.__version__,
            "suffix": EXTENSION_SUFFIXES[0],
            # Of the copies: a source that changes while the compiler runs is stale at once.
            "modules": {name: compiled.digest(compiled.source_of(name, str(tree / PACKAGE))) for name in hot},
        }
        self.translated = pool.submit(self.translate)

    def translate(self) -> dict[str, Future[Path]]:
        """Have Cython write C, and let the pool compile it: the longest first, so that the last to finish are short."""
        command = [sys.executable, "-c", TRANSLATE, json.dumps([list(self.hot), DIRECTIVES])]
        done = subprocess.run(command, cwd=self.tree, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = done.stderr.strip().splitlines()
            raise NotCompiledError(f"compiling failed: {lines[-1] if lines else 'Cython ended'}")
        sources = {name: self.tree / (name.replace(".", "/") + ".c") for name in self.hot}
        order = sorted(sources, key=lambda name: -sources[name].stat().st_size)
        return {name: self.pool.submit(compile_one, name, sources[name], self.scratch) for name in order}

    def finish(self) -> tuple[dict[str, Path], dict[str, Any]]:
        """Wait; return the libraries and the record."""
        try:
            return {name: started.result() for name, started in self.translated.result().items()}, self.record
        except (
            Exception
        ) as error:  # whatever Cython, setuptools or the compiler raised: the .py serve as well
            full = full_disk(self.root, self.scratch)
            if isinstance(error, NotCompiledError) and not full:
                raise
            first = str(error).strip().splitlines()
            why = full or f"{type(error).__name__}: {first[0] if first else ''}"
            raise NotCompiledError(f"compiling failed: {why}") from error


def compile_one(name: str, source: Path, scratch: Path) -> Path:
    """Compile the C of one hot module."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    flags = [] if sys.platform == "win32" else list(HOT_FLAGS)
    extension = Extension(name, [str(source)], extra_compile_args=flags)
    command = build_ext(Distribution({"name": PACKAGE, "ext_modules": [extension]}))
    command.build_lib = str(scratch / "libraries")
    command.build_temp = str(scratch / "objects")
    command.ensure_finalized()
    command.run()
    return Path(command.get_ext_fullpath(name))


def full_disk(root: Path, scratch: Path) -> str:
    """Return which disk is full, as the reason of a build that failed; "" if none is."""
    building = building_module(root)
    return building.full_disk(scratch) if building else ""


def need_compiler(root: Path, scratch: Path) -> None:
    """Raise NotCompiledError unless a C compiler and Python's headers are there."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    probe = scratch / "probe.c"
    try:
        probe.write_text(
            "#include <Python.h>\nint tt_probe(void) { return PY_MAJOR_VERSION; }\n", encoding="utf-8"
        )
        command = build_ext(
            Distribution({"name": PACKAGE, "ext_modules": [Extension("tt_probe", [str(probe)])]})
        )
        command.build_lib = command.build_temp = str(scratch / "probe")
        command.ensure_finalized()
        command.run()
    except Exception as error:  # setuptools raises a dozen kinds, some of them no exceptions of its own
        full = full_disk(root, scratch)
        raise NotCompiledError(full or "no working C compiler with Python's headers was found") from error
