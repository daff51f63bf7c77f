"""Times the NumPy kernels of the CPU against what would serve without them: `python -m benchmarks.numpy_kernels`.

A kernel in NumPy is worth its lines where it is at least twice as fast as the kernel over the array API or the
composite that serves in its place.  Each is timed with and without, by turns, for the dtypes that it serves, on
arguments in row-major order and in the reverse one.  The processor's time of the thread counts, which other programs
disturb less than the clock.  Native kernels do not take part.

The arguments are samples of the conformance checks, repeated along their dimensions until the largest has some ten
thousand elements, as far as the operator takes them.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

import numpy as np

import tt
from tt.backends.cpu import tables
from tt.backends.cpu.general import GeneralKernels
from tt.backends.cpu.native import loading
from tt.backends.cpu.orders import with_shared_order
from tt.backends.cpu.stored import with_stored
from tt.core.dispatch.registry.sources import Registration
from tt.core.dispatch.registry.tables import taken_names
from tt.core.library import REGISTRY, Kernel
from tt.core.schema.classes import dtype_set
from tt.testing.conformance import targets
from tt.testing.samples import Sample, samples

__all__ = ["DTYPES", "WORTH", "Row", "geometric_means", "main", "measure", "own_kernels"]

DTYPES: Final = ("bool", "uint8", "int64", "float16", "float32", "float64", "complex64")
WORTH: Final = 2.0
"""The ratio of times from which on a kernel stays."""
ELEMENTS: Final = 16_384
TURNS: Final = 5
SECONDS: Final = 0.002


class Row(NamedTuple):
    """A kernel on arguments of a dtype and order: microseconds with and without it, and what serves without it."""

    family: str
    op: str
    form: str
    kernel: str
    dtype: str
    order: str
    elements: int
    kernel_us: float
    other_us: float
    other: str

    @property
    def ratio(self) -> float:
        """How many times as long the operator takes without the kernel."""
        return self.other_us / self.kernel_us


class Call(NamedTuple):
    """A call of an operator in one of its forms."""

    function: Callable[..., Any]
    sample: Sample


# --- kernels ---------------------------------------------------------------------------------------------------


def own_kernels(pattern: str) -> dict[str, list[Registration]]:
    """Return the registrations of the CPU's NumPy kernels, by operator; those for stored dtypes alone are left out."""
    tt.zeros(1)  # loads the backend
    found = {}
    for op in tables.INDEX.homes():
        if not fnmatchcase(op, pattern) or op not in REGISTRY.kernels:
            continue
        own = [r for r in REGISTRY.kernels[op] if r.device == "cpu" and r.layouts == ("strided",)]
        own = [r for r in own if not r.kernel.native and r.kernel.dtypes not in tables.STORED]
        if own:
            found[op] = own
    return found


@contextmanager
def serving(op: str, registrations: Sequence[Registration]) -> Iterator[None]:
    """Let the CPU have these kernels of an operator and no others."""
    before = REGISTRY.kernels[op]
    others = [r for r in before if r.device != "cpu" or r.layouts != ("strided",)]
    REGISTRY.kernels[op] = [*registrations, *others]
    REGISTRY.invalidate(op)
    try:
        yield
    finally:
        REGISTRY.kernels[op] = before
        REGISTRY.invalidate(op)


def substitutes(op: str, own: Sequence[Registration], form: str) -> tuple[list[Registration], str]:
    """Return the kernels that are left without those of a form, and what serves then.

    Without the kernels of the functional form, those of the other forms go, too.
    """
    if form != "functional":
        return [r for r in own if r.kernel.form != form], "derived"
    backend: Any = REGISTRY.backend("cpu")
    general = [
        _registered(with_stored(with_shared_order(kernel)), own[0])
        for kernel in GeneralKernels(backend).of(op)
    ]
    if general:
        return general[::-1], "array API"
    return [], "composite" if REGISTRY.composite(op) is not None else ""


def _registered(kernel: Kernel, like: Registration) -> Registration:
    return Registration(
        kernel, like.device, like.layouts, like.source, dtype_set(kernel.dtypes), like.result, like.scope
    )


def name_of(kernel: Kernel) -> str:
    """Return the name of a kernel's function, and the arguments that it takes."""
    name = getattr(kernel.function, "__name__", kernel.op)
    taken = taken_names(kernel, REGISTRY.operator(kernel.op).definition.signature)
    return f"{name}({', '.join(taken)})"


def family_name(op: str) -> str:
    """Return the module of an operator's kernels."""
    modules = tables.INDEX.homes()[op]
    return modules[0].removeprefix("tt.backends.cpu.").partition(".")[0]


# --- arguments -------------------------------------------------------------------------------------------------


def mapped(function: Callable[[tt.Tensor], tt.Tensor], value: Any) -> Any:
    """Return an argument whose tensors went through a function, those in lists and tuples, too."""
    if isinstance(value, tt.Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(function, item) for item in value)
    return value


def changed(function: Callable[[tt.Tensor], tt.Tensor], sample: Sample) -> Sample:
    """Return a sample whose tensors went through a function."""
    arguments = {name: mapped(function, value) for name, value in sample.kwargs.items()}
    return Sample(tuple(mapped(function, value) for value in sample.args), arguments)


def tensors_of(sample: Sample) -> list[tt.Tensor]:
    """Return the tensors among the arguments."""
    found: list[tt.Tensor] = []

    def keep(tensor: tt.Tensor) -> tt.Tensor:
        found.append(tensor)
        return tensor

    changed(keep, sample)
    return found


def size_of(sample: Sample) -> int:
    """Return the number of elements of the largest tensor."""
    return max((tensor.numel() for tensor in tensors_of(sample)), default=0)


def enlarged(sample: Sample) -> Iterator[Sample]:
    """Yield a sample with its tensors repeated: along all dimensions, along the first one, and not at all."""
    count, rank = max(((tensor.numel(), tensor.ndim) for tensor in tensors_of(sample)), default=(0, 0))
    if count and rank:
        times = max(1, round((ELEMENTS / count) ** (1 / rank)))
        yield changed(lambda tensor: tensor.repeat([times] * tensor.ndim), sample)
        times = max(1, round(ELEMENTS / count))
        yield changed(
            lambda tensor: (
                tensor.repeat([times, *[1] * (tensor.ndim - 1)]) if tensor.ndim == rank else tensor
            ),
            sample,
        )
    yield sample


def reversed_order(tensor: tt.Tensor) -> tt.Tensor:
    """Return a tensor whose dimensions lie in the reverse order in memory."""
    dims = tuple(range(tensor.ndim))[::-1]
    return tensor.permute(dims).contiguous().permute(dims)


# --- measuring -------------------------------------------------------------------------------------------------


def runner(op: str, form: str, sample: Sample) -> Callable[[], Any] | None:
    """Return a function that calls a form of an operator, or None where it does not take the sample."""
    operator = REGISTRY.operator(op)
    try:
        if form == "functional":
            call = operator.overload(form)
            call(*sample.args, **sample.kwargs)
            return lambda: call(*sample.args, **sample.kwargs)
        call = operator.overload(form)
        if form == "out":
            out = operator.overload("functional")(*sample.args, **sample.kwargs)
            call(*sample.args, **sample.kwargs, out=out)
            return lambda: call(*sample.args, **sample.kwargs, out=out)
        first, *rest = sample.args
        target = mapped(lambda tensor: tensor.clone(), first)
        call(target, *rest, **sample.kwargs)
    except (tt.errors.TTError, ValueError, TypeError, IndexError, RuntimeError, ArithmeticError, MemoryError):
        return None
    return lambda: call(target, *rest, **sample.kwargs)


def served_samples(
    op: str, own: Sequence[Registration], dtype: str
) -> dict[Registration, tuple[str, Sample]]:
    """Return the form and the largest sample that each kernel serves with a dtype."""
    definition = REGISTRY.operator(op).definition
    used: list[Registration] = []
    watched = []
    for registration in own:
        kernel = registration.kernel

        def watch(
            *args: Any, function: Any = kernel.function, registration: Registration = registration
        ) -> Any:
            used.append(registration)
            return function(*args)

        names = taken_names(kernel, definition.signature)
        watched.append(_registered(replace(kernel, function=watch, takes=names), registration))
    found: dict[Registration, tuple[str, Sample]] = {}
    forms = {registration.kernel.form for registration in own}
    given = [s for s in samples(definition, "cpu", getattr(tt, dtype)) if s.error is None]
    with serving(op, watched):
        for sample in sorted(given, key=size_of):
            for form in forms:
                del used[:]
                if runner(op, form, sample) is None or not used:
                    continue
                if used[-1].kernel.form == form:
                    found[used[-1]] = (form, sample)
    return found


def elapsed(call: Callable[[], Any], count: int) -> float:
    """Return the seconds of the thread that a call takes."""
    began = time.thread_time()
    for _ in range(count):
        call()
    return (time.thread_time() - began) / count


def timed(op: str, own: Sequence[Registration], form: str, sample: Sample) -> tuple[float, float, str] | None:
    """Return the seconds of a call with the kernels and without, and what serves then; None if nothing does."""
    left, other = substitutes(op, own, form)
    best = [math.inf, math.inf]
    if not other:
        return None
    for _ in range(TURNS):
        for index, registrations in enumerate((own, left)):
            with serving(op, registrations):
                call = runner(op, form, sample)
                if call is None:
                    return None
                once = elapsed(call, 1)
                best[index] = min(
                    best[index], once, elapsed(call, max(1, min(1000, int(SECONDS / (once + 1e-7)))))
                )
    return best[0], best[1], other


def measure(pattern: str, dtypes: Sequence[str] = DTYPES) -> Iterator[Row]:
    """Time the kernels of the operators whose names match."""
    for op, own in own_kernels(pattern).items():
        for dtype in [target.dtype for target in targets("cpu", [op], dtypes)]:
            for registration, (form, sample) in served_samples(op, own, dtype).items():
                large = next(s for s in enlarged(sample) if runner(op, form, s) is not None)
                for order, arranged in (("rows", large), ("reversed", changed(reversed_order, large))):
                    times = timed(op, own, form, arranged)
                    if times is None:
                        continue
                    with_it, without, other = times
                    yield Row(
                        family_name(op), op, form, name_of(registration.kernel), dtype, order, size_of(arranged),
                        round(with_it * 1e6, 1), round(without * 1e6, 1), other,
                    )  # fmt: skip


def geometric_means(rows: Sequence[Row]) -> dict[tuple[str, str, str, str], tuple[float, float, float]]:
    """Return the mean, the smallest and the largest ratio of each kernel, by family, operator, form and function."""
    ratios: dict[tuple[str, str, str, str], list[float]] = {}
    for row in rows:
        ratios.setdefault((row.family, row.op, row.form, row.kernel), []).append(row.ratio)
    return {
        name: (math.exp(float(np.mean(np.log(values)))), min(values), max(values))
        for name, values in ratios.items()
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, write a row for each case, and print the kernels that are not worth their lines."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.numpy_kernels", description=__doc__)
    parser.add_argument("--ops", default="*", metavar="PATTERN", help="the operators, with wildcards")
    parser.add_argument(
        "--dtypes", default=",".join(DTYPES), metavar="NAMES", help="of the arguments, with commas"
    )
    parser.add_argument("--csv", metavar="FILE", help="takes a row for each case")
    options = parser.parse_args(argv)
    if loading.status().active:  # in a process without, in which composites have NumPy's kernels, too
        command = [
            sys.executable,
            "-m",
            "benchmarks.numpy_kernels",
            *(sys.argv[1:] if argv is None else argv),
        ]
        environment = {**os.environ, loading.SWITCH: "0", "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.run(command, env=environment, check=False).returncode
    rows = []
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        file = stack.enter_context(
            open(options.csv or os.devnull, "w", newline="", encoding="utf-8", buffering=1)
        )
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        for row in measure(options.ops, options.dtypes.split(",")):
            rows.append(row)
            writer.writerow(row)
    means = geometric_means(rows)
    for (family, op, form, kernel), (mean, least, most) in sorted(means.items()):
        mark = "  *" if mean < WORTH else ""
        print(f"{family:14} {op:36} {form:10} {kernel:28} {mean:6.2f} {least:6.2f} {most:6.2f}{mark}")
    below = sum(mean < WORTH for mean, _, _ in means.values())
    print(f"{len(means)} kernels; below {WORTH:g}, marked with *: {below}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
