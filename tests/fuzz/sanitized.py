"""python -m tests.fuzz.sanitized [--levels avx2] [-- COMMAND ...]: tt compiled with AddressSanitizer and UBSan.

Hot modules and native kernels are compiled into a copy of the package, `build/sanitized`; what has not changed since
is kept.  The command runs with that copy, in an environment in which the sanitizers are loaded before Python, and with
PYTHONMALLOC=malloc, so that objects of Python are watched as well.  Without a command, the fuzzer of operators runs.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any, Final

__all__ = ["build", "environment", "main"]

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "build" / "sanitized"
FLAGS: Final = (
    "-O1", "-g1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize=nonnull-attribute",
    "-fno-wrapv", "-DTT_SANITIZED",
)  # fmt: skip
"""They follow those of the build, and overrule them.  An array without dimensions has no list of them, and copying
nothing from there is what every compiler takes it for.  With -fwrapv, which is among the flags of most Pythons, UBSan
misses overflows, and GCC takes eight times as long for the kernels of products."""
ADDRESS: Final = (
    "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=2048:hard_rss_limit_mb=6000"
)
"""Python keeps memory until it ends; a request that is too large fails, as it would without the sanitizer."""


def main(arguments: list[str] | None = None) -> int:
    """Build, and run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.sanitized", description=__doc__)
    parser.add_argument(
        "--levels", default="", help="instruction sets, by default the highest that is usable here"
    )
    parser.add_argument(
        "--list", action="store_true", help="print the environment instead of running a command"
    )
    parser.add_argument(
        "command", nargs="*", help="options of python, by default: -m tests.fuzz --seconds 60 operators"
    )
    options = parser.parse_args(arguments)
    levels = tuple(filter(None, options.levels.split(","))) or (highest(),)
    build(levels)
    variables = {
        **environment(),
        **{name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ},
    }
    if options.list:
        print("\n".join(f"{name}={value}" for name, value in variables.items()))
        return 0
    command = options.command or ["-m", "tests.fuzz", "--seconds", "60", "--megabytes", "0", "operators"]
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "TT_ISA": levels[-1], **variables},
        check=False,
    )
    return done.returncode


def highest() -> str:
    """Return the highest instruction set of this processor."""
    from tt.backends.cpu.native.loading import levels

    return (levels().processor or ("baseline",))[-1]


def environment() -> dict[str, str]:
    """Return the variables with which the sanitized build runs.

    Raises
    ------
    FileNotFoundError
        When the compiler has no library of a sanitizer.
    """
    # The library of C++, too, or what other libraries throw ends the process: the sanitizer looks for it at once.
    libraries = [_library(name) for name in ("libasan.so", "libubsan.so", "libstdc++.so.6")]
    return {
        "LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": ADDRESS,
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "PYTHONMALLOC": "malloc", "PYTHONPATH": str(FOLDER), "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip


def _library(name: str) -> str:
    compiler = os.environ.get("CC", "gcc")
    done = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    found = done.stdout.strip()
    if not os.path.isabs(found):
        raise FileNotFoundError(f"{compiler} has no {name}")
    return found


# --- the build -----------------------------------------------------------------------------------------------------


def build(levels: tuple[str, ...]) -> None:
    """Compile stale libraries in `build/sanitized`."""
    hook = _module("_tt_hatch_build", ROOT / "hatch_build.py")
    building = hook.building_module(ROOT)
    extensions = sys.modules["_tt_native.extensions"]
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["hooks"][
        "custom"
    ]
    hot = hook.hot_modules(ROOT, options["hot-modules"])
    native = {
        name: source for name, source in building.native_modules(ROOT).items()
        if _is_wanted(extensions, name, levels)
    }  # fmt: skip
    package = FOLDER / "tt"
    hook.make_generated(ROOT)
    _copy_sources(hook, package)
    # At import the package checks the digests of an ordinary build; whether to compile is asked of these.
    ordinary = {name: building.digest(name, source) for name, source in native.items()}
    usual = extensions.flags_of
    extensions.flags_of = building.flags_of = lambda module: [*usual(module), *FLAGS]
    hook.HOT_FLAGS = FLAGS
    os.environ["LDFLAGS"] = "-fsanitize=address,undefined"
    done_before = _read(FOLDER / "digests.json")
    digests = {name: building.digest(name, source) for name, source in native.items()}
    files = [
        path for source in hot.values() for path in (source, source.with_suffix(".pxd")) if path.is_file()
    ]
    digests["hot"] = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    wanted = {name: source for name, source in native.items() if done_before.get(name) != digests[name]}
    with (
        tempfile.TemporaryDirectory(prefix="tt-sanitized-") as scratch,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        modules = None
        if done_before.get("hot") != digests["hot"]:
            modules = hook.HotModules(ROOT, hot, Path(scratch), pool)
        if wanted:
            libraries, record = building.compile_native(wanted, Path(scratch) / "native", pool=pool)
            for name, library in libraries.items():
                shutil.copyfile(library, building.library_of(name, package))
            building.write_record(package / building.RECORD, {**record, "modules": ordinary})
        if modules is not None:
            libraries, record = modules.finish()
            for name, library in libraries.items():
                shutil.copyfile(library, Path(package, *name.split(".")[1:-1], library.name))
            hook.write_record(package / hook.compiled_module(ROOT).RECORD, record)
    (FOLDER / "digests.json").write_text(json.dumps(digests))


def _is_wanted(extensions: ModuleType, module: str, levels: tuple[str, ...]) -> bool:
    level, own = (
        extensions.level_of(module),
        extensions.SOURCE_LEVELS.get(extensions.source_name(module), extensions.LEVELS),
    )
    highest = [max((one for one in own if extensions.LEVELS.index(one) <= extensions.LEVELS.index(wanted)),
                   key=extensions.LEVELS.index, default="") for wanted in levels]  # fmt: skip
    return not level or level in highest


def _copy_sources(hook: ModuleType, package: Path) -> None:
    kept = set()
    for place, source in hook.package_files(ROOT):
        copy = package / place
        kept.add(copy)
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
    for file in package.rglob("*.py"):
        if file not in kept:
            file.unlink()


def _module(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found


if __name__ == "__main__":
    sys.exit(main())
