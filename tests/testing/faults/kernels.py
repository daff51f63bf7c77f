"""Faults of kernels: functions over arrays that are wrong in one way."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.testing.faults.fault import Array, Call, Fault, changed, each
from tests.testing.faults.selection import (
    all_of,
    computes,
    functional,
    kind,
    mixes,
    only,
    promises,
    result_is,
    returns_tensors,
    rounds,
    takes_tensors,
    takes_two,
)
from tt.core.library import REGISTRY, errors, run_rule

__all__ = ["KERNELS"]

Mask = Callable[[Array], Array]

# --- how they are wrong ------------------------------------------------------------------------------------------


def last_changed(array: Array) -> Array:
    array = array.copy()
    if array.size:
        array[np.unravel_index(array.size - 1, array.shape)] = changed(array).reshape(-1)[-1]
    return array


def where(mask: Mask) -> Callable[[Call], Any]:
    """Be wrong where an argument has certain elements: there in a pointwise operator, everywhere in others."""

    def fault(call: Call) -> Any:
        result = call.run()
        found = [mask(a) for a in call.arrays if a.dtype.kind in "fc"]
        if not any(m.any() for m in found):
            return result

        def spoil(array: Array) -> Array:
            if call.definition.kind == "pointwise":
                spot = np.zeros(array.shape, bool)
                for m in found:
                    spot |= np.broadcast_to(m, array.shape)
                return np.where(spot, changed(array), array)
            return changed(array)

        return each(result, spoil)

    return fault


def when(test: Callable[[Call], bool], spoil: Callable[[Array], Array] = changed) -> Callable[[Call], Any]:
    return lambda call: each(call.run(), spoil) if test(call) else call.run()


def emptied(call: Call) -> Any:
    if all(a.size for a in call.arrays):
        return call.run()
    return each(call.run(), lambda r: changed(r) if r.size else np.ones([n + 1 for n in r.shape], r.dtype))


def mutates(number: int) -> Callable[[Call], Any]:
    def fault(call: Call) -> Any:
        result = each(call.run(), lambda r: r if call.definition.kind == "view" else r.copy())
        if len(call.arrays) > number and call.arrays[number].size and call.arrays[number].flags.writeable:
            target = call.arrays[number]
            target[(0,) * target.ndim] = changed(target[(0,) * target.ndim])
        return result

    return fault


def as_if_packed(call: Call) -> Any:
    """Read the memory of each argument from its start, as if it were contiguous."""

    def packed(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(packed, value))
        if not isinstance(value, np.ndarray) or not value.size:
            return value
        owner = value
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if owner.dtype != value.dtype or not owner.flags.forc:
            return value
        memory = owner.reshape(-1, order="A")
        return (
            np.resize(memory, value.shape)
            if memory.size < value.size
            else memory[: value.size].reshape(value.shape)
        )

    return call.run(**{name: packed(value) for name, value in call.args.items()})


def broadcasts_first(call: Call) -> Any:
    """Broadcast only the first element of smaller tensors."""
    try:
        shape = np.broadcast_shapes(*(a.shape for a in call.arrays))
    except ValueError:
        return call.run()

    def narrowed(value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.shape == shape or not value.size:
            return value
        return np.full_like(value, value.flat[0])

    return call.run(**{name: narrowed(value) for name, value in call.args.items()})


def reuses_buffer(call: Call) -> Any:
    """Return the array of the previous call, with new content."""

    def again(array: Array) -> Array:
        kept = call.memory.setdefault((array.shape, array.dtype), np.empty_like(array))
        kept[...] = array
        return kept

    return each(call.run(), again)


def unseeded(call: Call) -> Any:
    random = np.random.default_rng()
    return each(call.run(), lambda r: np.where(random.random(r.shape) < 0.5, changed(r), r))


def trembles(call: Call) -> Any:
    """Differ from call to call by less than any tolerance."""
    call.memory["calls"] = call.memory.get("calls", 0) + 1
    return each(
        call.run(),
        lambda r: (
            np.nextafter(r, r.dtype.type(2) * r) if call.memory["calls"] % 2 and r.dtype.kind == "f" else r
        ),
    )


def saturates(call: Call) -> Any:
    """Stay at the largest or smallest integer in place of wrapping around."""
    result = np.asarray(call.run())
    if result.dtype.kind not in "iu":
        return result
    limits = np.iinfo(result.dtype)
    wide = [v.astype(object) if isinstance(v, np.ndarray) else v for v in call.args.values()]
    exact = np.asarray(EXACT[call.definition.name](*wide), dtype=object)
    return np.asarray(np.clip(exact, limits.min, limits.max)).astype(result.dtype)


EXACT: dict[str, Callable[..., Any]] = {
    "add": lambda a, b, alpha=1: a + alpha * b,
    "sub": lambda a, b, alpha=1: a - alpha * b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "square": lambda a: a * a,
    "abs": abs,
    "positive": lambda a: a,
    "rsub": lambda a, b, alpha=1: b - alpha * a,
}


def refuses(*kinds: str) -> Callable[[Call], Any]:
    """Refuse a dtype that was claimed."""

    def fault(call: Call) -> Any:
        if any(a.dtype.name in kinds for a in call.arrays):
            raise TypeError(f"no loop for {kinds[0]}")
        return call.run()

    return fault


def accepts_errors(call: Call) -> Any:
    try:
        return call.run()
    except Exception:
        return np.zeros_like(call.first) if call.arrays else np.zeros(3)


def raises_another(call: Call) -> Any:
    """Raise an error of no meaning where the kernel refuses; the shape rule speaks first where it refuses, too."""
    try:
        return call.run()
    except Exception as error:
        operator = REGISTRY.operator(call.definition.name)
        full = dict(zip(operator.positions, operator.defaults, strict=True))
        try:
            run_rule(call.definition, tuple((full | call.args).values()))
        except errors.DataDependentError:
            pass  # the rule cannot tell
        except errors.TTError:
            raise error from None
        raise ZeroDivisionError("broken") from error


def warns(call: Call) -> Any:
    warnings.warn("overflow encountered", RuntimeWarning, stacklevel=1)
    return call.run()


def adds_up_in_half(call: Call) -> Any:
    """Add the elements up one after the other, rounding each sum to half precision."""
    array = call.first
    result = np.asarray(call.run())
    if array.dtype != np.float16 or array.size < 2 or result.size != 1:
        return result
    total = np.float16(0)
    for value in array.reshape(-1):
        total = np.float16(total + value)
    scale = array.size if call.definition.name.startswith("mean") else 1
    return np.full(result.shape, total / scale, result.dtype)


def through_single(array: Array) -> Array:
    return array.astype(np.float32).astype(np.float64) if array.dtype == np.float64 else array


def through_double(call: Call) -> Any:
    """Compute integers in floating point, which has no room for the largest."""

    def rounded(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
            near = np.clip(value.astype(np.float64), -(2.0**62), 2.0**62)
            return np.asarray(near).astype(value.dtype)
        return value

    return call.run(**{name: rounded(value) for name, value in call.args.items()})


def other_ties(call: Call) -> Any:
    """Prefer the last of equal elements."""
    name, array, dim = next(iter(call.args)), call.first, call.args.get("dim")
    if not array.ndim or (dim is not None and not -array.ndim <= dim < array.ndim):
        return call.run()
    turned = array.reshape(-1)[::-1].reshape(array.shape) if dim is None else np.flip(array, dim)
    size = array.size if dim is None else array.shape[dim]
    result = call.run(**{name: turned})
    return each(result, lambda r: size - 1 - r) if not isinstance(result, tuple) else (
        result[0], size - 1 - result[1],
    )  # fmt: skip


def by_columns(array: Array) -> Array:
    return np.asfortranarray(array) if array.ndim > 1 else array


def conjugated(array: Array) -> Array:
    return np.where(array.imag != 0, array.conj(), array) if array.dtype.kind == "c" else array


def real_part(array: Array) -> Array:
    return array.real.astype(array.dtype) if array.dtype.kind == "c" else array


def far_off(array: Array) -> Array:
    """Move floating point numbers by a thousand units in the last place of single precision."""
    return array * array.dtype.type(1 + 1000 * 2.0**-23) if array.dtype.kind == "f" else array


def unsigned_zero(array: Array) -> Array:
    negative = (array == 0) & np.signbit(array) if array.dtype.kind == "f" else np.zeros(1, bool)
    return array + array.dtype.type(0) if negative.any() else array


def of_another_dtype(array: Array) -> Array:
    return array.astype(OTHER_DTYPE.get(array.dtype.name, np.float64))


OTHER_DTYPE = {
    "float32": np.float64, "float64": np.float32, "int64": np.int32, "bool": np.uint8, "complex64": np.complex128,
}  # fmt: skip


def on_all(function: Callable[[Array], Any]) -> Callable[[Call], Any]:
    """Do something to each result."""
    return lambda call: each(call.run(), function)


# --- the table ---------------------------------------------------------------------------------------------------

FLOATS = promises("float32")
NO_LAYOUT = "its results have less than two dimensions of more than one element"
CORE_REFUSES = "the core refuses these samples before the kernel is called"

KERNELS = (
    # --- values ---
    Fault("changed at the last element", ("values",), "values differ|instead of",
          on_all(last_changed), computes),
    Fault("off by a thousand units in the last place", ("values",), "values differ",
          on_all(far_off),
          all_of(computes, rounds, FLOATS), inert="all of its results are zero"),
    Fault("wrong at NaN", ("values", "extreme"), "differ", where(np.isnan),
          all_of(computes, kind("pointwise", "reduction"), FLOATS)),
    Fault("wrong at infinity", ("values", "extreme"), "differ", where(np.isinf),
          all_of(computes, kind("pointwise", "reduction"), FLOATS)),
    Fault("wrong at negative zero", ("values", "extreme"), "differ",
          where(lambda a: (a == 0) & np.signbit(a.real)), all_of(computes, kind("pointwise"), FLOATS)),
    Fault("loses the sign of zero", ("extreme",), "sign of zero",
          on_all(unsigned_zero),
          all_of(computes, kind("pointwise"), FLOATS, result_is("default", "int_to_float")),
          inert="none of its results is negative zero"),
    Fault("wrong for a tensor without elements", ("values", "meta", "runs", "empty"), "instead of|differ|size 0",
          emptied,
          all_of(computes, takes_tensors),
          excluded={
              "max": "refuses them", "min": "refuses them", "_fft_c2r": "refuses them",
              "unique_dim": "is internal, and what calls it refuses them",
              "resize": "what its result holds is undefined where the argument ends",
              **dict.fromkeys(("_batch_norm", "_batch_norm_backward", "_cross_entropy", "_cross_entropy_backward"),
                              "a mean over nothing is not a number, and no sample asks for one"),
          }),
    Fault("wrong for a tensor without dimensions", ("values",), "instead of|differ",
          when(lambda c: bool(c.arrays) and not c.first.ndim), all_of(computes, kind("pointwise", "reduction")),
          excluded={"trace": "takes matrices only"}),
    Fault("ignores strides and offset", ("values", "layout"), "differ|with arguments that are",
          as_if_packed, all_of(computes, takes_tensors), dtypes=("float32", "bool"),
          excluded={
              **dict.fromkeys(("zeros_like", "ones_like", "full_like"), "reads no values"),
              "resize": "takes the memory as it is, by definition",
              "isin": "no number of the samples is among the others, wherever it is read",
              "any": "finds something that is not zero wherever it reads", "any.dim": "as any",
          }),
    Fault("broadcasts the first element only", ("values",), "differ", broadcasts_first,
          all_of(computes, kind("pointwise"), takes_two)),
    Fault("differs from call to call", ("repeat",), "the same call", trembles, all_of(computes, rounds, FLOATS),
          inert="all of its results are zero"),
    Fault("wrong for bools", ("values",), "differ", when(lambda c: bool(c.arrays) and c.first.dtype == bool),
          all_of(computes, promises("bool"), takes_tensors), dtypes=("bool",)),
    Fault("computes double precision in single", ("values",), "differ", on_all(through_single),
          all_of(computes, rounds, promises("float64")), dtypes=("float64",),
          inert="its results are whole numbers, or copies of the samples' numbers"),
    Fault("computes integers in floating point", ("values", "extreme"), "differ", through_double,
          all_of(computes, kind("pointwise"), promises("int64"), result_is("default")), dtypes=("int64",),
          excluded={
              "sign": "tells no size", "clamp": "the bounds of the samples are small",
              "pow.Scalar": "the exponents of the samples are small",
          }),
    Fault("saturates where integers wrap around", ("values", "extreme"), "differ", saturates, only(*EXACT),
          dtypes=("int64",)),
    Fault("saturates where unsigned integers wrap around", ("values", "extreme"), "differ", saturates,
          only(*(set(EXACT) - {"abs", "positive"})), dtypes=("uint8",)),
    Fault("drops imaginary parts", ("values",), "differ",
          on_all(real_part),
          all_of(computes, promises("complex64")), dtypes=("complex64",), inert="its results are real"),
    Fault("conjugates", ("values",), "differ",
          on_all(conjugated),
          all_of(computes, promises("complex64")), dtypes=("complex64",), inert="its results are real"),
    Fault("adds half precision up in half precision", ("many",), "differ", adds_up_in_half,
          only("sum", "sum.dim", "mean", "mean.dim", "nansum", "dot", "vdot"), dtypes=("float16",), half=True),
    Fault("prefers the last of equals", ("values",), "differ", other_ties,
          only("sort", "sort.stable", "argsort", "argsort.stable", "argmax", "argmin", "max.dim", "min.dim")),
    # --- shape, dtype, strides ---
    Fault("adds a dimension", ("meta", "runs", "values"), "instead of", on_all(lambda r: r[None]), computes),
    Fault("lays the result out by columns", ("meta",), "strides",
          on_all(by_columns), all_of(computes, takes_tensors), inert=NO_LAYOUT,
          excluded={"unique_dim": "its shape depends on data, so nothing says what its strides are",
                    "_unique2": "its shape depends on data, so nothing says what its strides are",
                    "_unique_consecutive": "its shape depends on data, so nothing says what its strides are"}),
    Fault("lays the result out by rows whatever the order of its argument", ("format", "meta"), "strides",
          on_all(np.ascontiguousarray),
          only("neg", "exp", "sigmoid", "tanh", "sin", "cos", "square", "expm1", "log1p", "atan")),
    Fault("returns another dtype", ("runs", "meta"), "returned|dtype|instead of",
          on_all(of_another_dtype), computes),
    Fault("returns too few results", ("runs",), "results", lambda c: c.run()[:-1],
          lambda d: len(d.signature.returns) > 1 and computes(d)),
    # Kernels in C refuse arrays of several dtypes, where NumPy promotes them in its own way.
    Fault("forgets to cast mixed dtypes", ("runs", "meta", "values"),
          "promises|instead of|differ|have the dtypes|has no kernel for",
          lambda c: c.args["handle"], mixes, level="cast",
          excluded={
              "ldexp": "NumPy's own promotion gives the same", "clamp": "no sample has bounds of another dtype",
              "threshold_backward": "NumPy's own promotion gives the same",
              "special_zeta": "NumPy's own promotion gives the same",
              **dict.fromkeys(("_prelu_kernel", "_prelu_backward"), "no sample mixes dtypes, which PyTorch refuses"),
              "addcdiv": "its kernels serve tensors of one dtype, the composite all others",
          }),
    # --- memory ---
    Fault("changes its first argument", ("inputs",), "changed argument", mutates(0),
          all_of(takes_tensors, functional)),
    Fault("changes its second argument", ("inputs",), "changed argument", mutates(1), all_of(takes_two, functional)),
    Fault("reuses its memory for every result", ("repeat",), "memory of the first result", reuses_buffer, computes),
    Fault("copies where a view is due", ("view",), "does not change the argument", on_all(np.copy), kind("view")),
    # --- calls ---
    Fault("ignores the seed", ("seed",), "the same seed|the seed gives", unseeded,
          lambda d: "random" in d.tags and returns_tensors(d)),
    Fault("claims a dtype that it lacks", ("runs",), "no loop for int64", refuses("int64"),
          all_of(promises("int64"), takes_tensors, computes), dtypes=("int64",), raises=True),
    Fault("accepts invalid calls", ("runs",), "", accepts_errors, computes, inert=CORE_REFUSES),
    Fault("raises an error of another kind", ("runs",), "ZeroDivisionError", raises_another, computes,
          inert=CORE_REFUSES, raises=True),
    Fault("lets a warning out", ("runs",), "overflow encountered", warns, takes_tensors, raises=True),
)  # fmt: skip
