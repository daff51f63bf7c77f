"""`tt cuda warmup`: compiles kernels before a program needs them."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tt.cli import output
from tt.cli.options import Json
from tt.core.errors import DeviceError, UnknownNameError, ValueRangeError

if TYPE_CHECKING:
    from tt.backends.cuda.compile.warmup import Warmed

__all__ = ["warmup"]

FAILED = 1


def warmup(
    arch: Annotated[
        list[str] | None,
        typer.Option(
            "--arch",
            metavar="NAME",
            help="Compile for this architecture, as in sm_90; may be given several times.",
        ),
    ] = None,
    dtype: Annotated[
        list[str] | None,
        typer.Option(
            "--dtype", metavar="NAME", help="Compile the kernels of this dtype; may be given several times."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compile the CUDA kernels that programs run most, so that the first call of each does not wait.

    By default for the GPU of this machine. With --arch no GPU is needed, only NVRTC: a container can be built warm.
    What was compiled stays in TT_CUDA_CACHE_DIR.

    Exit codes: 0 all kernels are there; 1 some do not compile, or nothing can be compiled or kept here; 2 wrong
    options.
    """
    from tt.backends.cuda.compile.cache import cache_folder
    from tt.backends.cuda.compile.compiler import arch_name, nvrtc_version, usable_arch
    from tt.backends.cuda.compile.warmup import DTYPES, common_kernels, compile_all, present_arch

    known = (*DTYPES, "float64")
    for name in dtype or ():
        if name not in known:
            raise UnknownNameError("dtype", name, known)
    try:
        archs = list(dict.fromkeys(map(arch_name, arch))) if arch else [present_arch()]
    except ValueRangeError as error:
        raise typer.BadParameter(str(error), param_hint="--arch") from None
    # Only when no architecture was named did it ask the GPU, so the advice is right only then.
    except DeviceError as error:
        if arch:
            raise
        raise DeviceError(f"{error}\n  try: tt cuda warmup --arch sm_90, which needs no GPU") from None
    kernels = common_kernels(list(dict.fromkeys(dtype or DTYPES)))
    done = 0
    with output.progress(f"compiling for {', '.join(archs)}", len(kernels) * len(archs)) as step:

        def told(warmed: Warmed) -> None:
            nonlocal done
            done += 1
            step(done, warmed.kernel)

        compiled = compile_all(kernels, archs, told)
    counts = Counter(warmed.state for warmed in compiled)
    if as_json:
        output.as_json({
            "folder": str(cache_folder()), "archs": archs, "kernels": len(kernels),
            **{state: counts[state] for state in ("compiled", "cached", "failed")},
            "failures": [asdict(warmed) for warmed in compiled if warmed.state == "failed"],
        })  # fmt: skip
    else:
        output.text(
            f"{len(kernels)} kernels for {', '.join(archs)}: {counts['compiled']} compiled, "
            f"{counts['cached']} were there, {counts['failed']} failed",
            f"kept in {cache_folder()}",
            *(
                f"{name}: PTX of {option.removeprefix('-arch=')} by NVRTC {'.'.join(map(str, nvrtc_version()))}, which "
                "the driver compiles when it is loaded"
                for name, (option, code) in ((name, usable_arch(name)) for name in archs)
                if code == "ptx"
            ),
        )
    if counts["failed"]:
        if not as_json:
            for warmed in compiled:
                if warmed.state == "failed":
                    output.problem(warmed.error)
        raise typer.Exit(FAILED)
