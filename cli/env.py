"""`tt env`: information for a bug report."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from typing import Any

from tt.cli import output
from tt.cli.options import Json
from tt.core.errors import TTError

__all__ = ["env"]

LIBRARIES = (
    "numpy", "scipy", "ml_dtypes", "array-api-compat", "cupy", "cupy-cuda12x", "cupy-cuda13x", "torch", "mkl", "cython",
    "pluggy", "PyYAML", "typer", "rich",
)  # fmt: skip
THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)  # fmt: skip


def env(as_json: Json = False) -> None:
    """Print information for a bug report: versions, platform, libraries, threads, plugins and settings."""
    report = environment()
    if as_json:
        output.as_json(report)
        return
    for number, (section, values) in enumerate(report.items()):
        if number:
            output.text("")
        output.text(section)
        # A variable that is set to nothing is not the same as one that is not set.
        output.fields(
            {f"  {name}": value or "(empty)" for name, value in values.items()} or {"  (none)": " "}
        )


def environment() -> dict[str, dict[str, Any]]:
    """Return the facts by section."""
    return {
        "tt": tt_facts(),
        "system": system_facts(),
        "libraries": library_versions(),
        "blas": blas_facts(),
        "threads": thread_facts(),
        "plugins": plugin_facts(),
        "variables": {name: value for name, value in sorted(os.environ.items()) if name.startswith("TT_")},
    }


def version(distribution: str) -> str | None:
    """Return the version of a distribution without importing it, or None."""
    from importlib import metadata  # takes 40 ms, which `tt --help` need not wait for

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def tt_facts() -> dict[str, str]:
    import tt
    from tt.core import compiled
    from tt.core.extension.cache import default_folder

    status = compiled.status()
    return {
        "version": tt.__version__,
        "distribution": version("tt-tensor") or "not installed",
        "hot modules": f"{'compiled' if status.active else 'interpreted'} ({status.reason})",
        **native_facts(),
        "extensions": str(default_folder()),
        "folder": os.path.dirname(os.path.abspath(tt.__file__ or "")),
    }


def native_facts() -> dict[str, str]:
    """Return which kernels of the CPU are used, and for which instruction set."""
    from tt.backends.cpu.native import loading

    known = loading.levels()
    try:
        status = loading.status()
        used = f"{'compiled' if status.active else 'NumPy serves'} ({status.reason})"
        level = status.level or "none"
    except TTError as error:  # TT_ISA requests an unavailable level; a bug report is still needed
        used, level = str(error).splitlines()[0], "none"
    asked = os.environ.get(loading.VARIABLE)
    parts = [level, f"by {loading.VARIABLE}={asked}" if asked else f"{loading.VARIABLE} is not set"]
    if known.processor:
        parts += [f"the processor has {', '.join(known.processor)}", f"compiled: {', '.join(known.compiled)}"]
    return {"native kernels": used, "instruction set": "; ".join(parts)}


def system_facts() -> dict[str, str]:
    return {
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "executable": sys.executable,
        "platform": platform.platform(),
        "machine": platform.machine(),
    }


def library_versions() -> dict[str, str]:
    versions = {name: version(name) for name in LIBRARIES}
    return {name: number for name, number in versions.items() if number is not None}


def blas_facts() -> dict[str, str]:
    """Return NumPy's description of the BLAS that it was built with, and what computes products and decompositions."""
    import numpy as np

    # NumPy names its BLAS only in the facts of its build.
    described: Any = np.show_config(mode="dicts")
    blas = (described or {}).get("Build Dependencies", {}).get("blas", {})
    keys = ("name", "version", "openblas configuration")
    return {key: str(blas[key]) for key in keys if blas.get(key)} | product_facts() | lapack_facts()


def product_facts() -> dict[str, str]:
    """Return what computes products of matrices on the CPU."""
    try:
        from tt.backends.cpu.native.linalg import bfloat_products, products

        single = products.serving()
        return {
            "float32 and float64 products": single,
            "bfloat16 products": "native kernels (AVX512_BF16)"
            if bfloat_products.unavailable() is None
            else f"in float32, {single}",
        }
    except TTError as error:  # a variable requests something missing; a bug report is still needed
        return {"products": str(error).splitlines()[0]}


def lapack_facts() -> dict[str, str]:
    """Return what computes singular values and eigenvalues on the CPU."""
    from tt.backends.cpu import mkl

    try:
        return {"singular values and eigenvalues": mkl.serving()}
    except TTError as error:
        return {"singular values and eigenvalues": str(error).splitlines()[0]}


def thread_facts() -> dict[str, str]:
    from tt.backends.cpu.cores import usable_cores

    facts = {"cores": str(os.cpu_count()), "usable cores": str(usable_cores())}
    with contextlib.suppress(TTError):  # errors of the native kernels are reported with them
        from tt.backends.cpu.threads import get_num_threads

        facts["of a kernel"] = str(get_num_threads())
    return facts | {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ}


def plugin_facts() -> dict[str, str]:
    from tt.core.host import host

    try:
        known = host.plugins()
    except TTError as error:  # TT_PLUGINS or TT_DISABLE_PLUGINS names none; a bug report is still needed
        return {"error": str(error).splitlines()[0]}
    facts = {}
    for plugin in known:
        reason = f" ({plugin.reason.splitlines()[0]})" if plugin.reason else ""
        facts[plugin.name] = f"{plugin.distribution} {plugin.version}: {plugin.state}{reason}"
    return facts
