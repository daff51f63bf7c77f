"""The implementation of an operator on a backend, and its dtypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from tt.core.dispatch.registry.preference import eligibilities_of, ranks_of
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.dispatch.resolve.dtypes import resolve_dtypes
from tt.core.dispatch.resolve.fallback import policy_of
from tt.core.errors import DtypeError, UnknownNameError
from tt.core.host import host
from tt.core.schema.snapshot import public_names
from tt.core.types.dtype import ALL_DTYPES, to_dtype
from tt.core.types.promotion import DIM_BITS

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator
    from tt.core.dispatch.registry.registry import Registration
    from tt.core.dispatch.registry.tables import Kernel
    from tt.core.schema.model import OpDefinition
    from tt.core.tensor.backend import Backend
    from tt.core.types.dtype import dtype as Dtype

__all__ = [
    "HOWS",
    "Coverage",
    "How",
    "Place",
    "brought_by",
    "compute_dtype",
    "computed_by",
    "coverage",
    "definitions_of",
    "kernel_dtypes",
    "parse_place",
    "passed_over",
    "places",
]

How = Literal["kernel", "generic kernel", "composite", "fallback", "other layout", "missing"]
HOWS: Final[tuple[How, ...]] = get_args(How)
"""The ways in which a backend serves an operator, or does not, the best first."""
HALF = frozenset({"float16", "bfloat16"})


@dataclass(frozen=True, slots=True)
class Place:
    """A device type with a layout, as kernels are registered for it.

    Examples
    --------
    >>> from tt.testing.coverage import Place
    >>> str(Place("cpu")), str(Place("cuda", "sparse_coo"))
    ('cpu', 'cuda/sparse_coo')
    """

    device: str
    layout: str = "strided"

    def __str__(self) -> str:
        return self.device if self.layout == "strided" else f"{self.device}/{self.layout}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """A backend's implementation of one operator.

    Attributes
    ----------
    op : str
        Qualified name of the overload.
    place : Place
        The device and layout.
    how : str
        kernel, generic kernel (the backend serves any operator), composite, fallback (another device serves it, where
        the user's policy allows), other layout (a plugin's own operator that is for tensors of other layouts only), or
        missing.
    dtypes : tuple of str
        The compute dtypes of the kernels; empty for composites, which serve what their parts serve.
    sources : tuple of str
        Who brought the kernels or the composite.
    computed_by : tuple of str
        What computes, in the order in which the kernels are tried: a library by its name, or see `computed_by`.  Of a
        fallback, what does so on the other device.
    """

    op: str
    place: Place
    how: How
    dtypes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    computed_by: tuple[str, ...] = ()

    @property
    def missing(self) -> bool:
        """Whether the backend lacks the operator."""
        return self.how == "missing"


# --- operators and backends by name ----------------------------------------------------------------------------


def definitions_of(name: str) -> list[OpDefinition]:
    """Return the overloads that a user's name means: `add`, `max.dim`, `add_`, `tt.Tensor.add_`, `linalg.svd`.

    Raises
    ------
    UnknownOpError
        When no operator has the name.
    """
    host.load()
    if "::" in name:
        host.activate("namespace", name.partition("::")[0])
    public = name.removeprefix("tt.")
    if public.startswith("Tensor."):  # a method, as pages of operators that are no functions are called
        name = public = public.removeprefix("Tensor.")
    # "max.dim" is the overload "dim" of the public name "max", while "linalg.svd" is a public name itself.
    operator = public_names().get(public) or public_names().get(public.rpartition(".")[0])
    if operator is not None and not REGISTRY.overloads(name):
        overload = "" if public in public_names() else "." + public.rpartition(".")[2]
        name = operator + overload
    names = REGISTRY.overloads(name)
    # An in-place form is no operator of its own in the registry.
    if not names and name.endswith("_"):
        names = tuple(n for n in REGISTRY.overloads(name[:-1]) if REGISTRY.operator(n).definition.has_inplace)
    if not names:
        return [REGISTRY.operator(name).definition]
    return [REGISTRY.operator(n).definition for n in names]


def places() -> list[Place]:
    """Return every device and layout that a working plugin, or tt itself, brings."""
    host.activate_all()
    REGISTRY.backend("meta")
    return sorted((Place(*key) for key in REGISTRY.backends), key=lambda p: (p.device, p.layout != "strided"))


def parse_place(text: str) -> Place:
    """Return the device and layout that a text like "cpu" or "cpu/sparse_coo" means.

    Raises
    ------
    UnknownNameError
        When no plugin brings it.
    """
    known = places()
    for match in known:
        if text in (str(match), f"{match.device}/{match.layout}"):
            return match

    # If a plugin that is missing or broken has the device, this says so better.
    host.require("device", text.partition("/")[0])
    raise UnknownNameError("backend", text, [str(match) for match in known])


def brought_by(plugin: str, definition: OpDefinition) -> list[str]:
    """Return a plugin's contributions to an operator: "definition", "kernel cpu", "composite"."""
    parts = ["definition"] if REGISTRY.definition_source(definition.name).plugin == plugin else []
    kernels = REGISTRY.kernels.get(definition.name, ())
    parts += dict.fromkeys(f"kernel {r.where}" for r in kernels if r.source.plugin == plugin)
    composite = REGISTRY.composite(definition.name)
    if composite is not None and composite.source.plugin == plugin:
        parts.append("composite")
    return parts


# --- who serves what -------------------------------------------------------------------------------------------


def kernel_dtypes(registration: Registration, definition: OpDefinition) -> set[str]:
    """Return the compute dtypes that a kernel serves, with those that the dispatcher computes in float32 for it."""
    served = set(registration.dtypes)
    native = registration.kernel.half == "native" or definition.kind == "view" or not definition.promote
    if not native:
        served -= HALF
        if "float32" in served:
            served |= HALF
    return served


def computed_by(kernel: Kernel) -> str:
    """Return the library that computes in a kernel, in words, from its declarations.

    Examples
    --------
    >>> from tt.testing.coverage import computed_by
    >>> from tt.core.library import Kernel
    >>> computed_by(Kernel("mm", max, by="cuBLASLt")), computed_by(Kernel("mm", max, native=True))
    ('cuBLASLt', 'compiled kernel')
    >>> computed_by(Kernel("mm", max))
    'own kernel'
    """
    return kernel.by or ("compiled kernel" if kernel.native else "own kernel")


def compute_dtype(operator: Operator, dtype: Dtype) -> Dtype | None:
    """Return the dtype in which a call computes whose arguments have a dtype; None where no argument decides it."""
    if operator.group:
        # The bits that a call with such arguments has in the key of its dtypes.
        bits = DIM_BITS[dtype.code]
    elif operator.others:
        bits = (dtype.code + 1) << operator.others[0][1]
    elif operator.dtype_at >= 0:
        bits = (dtype.code + 1) << operator.dtype_shift
    else:
        return None
    return resolve_dtypes(operator, "functional", bits).compute


def coverage(
    definition: OpDefinition, place: Place, dtype: Dtype | str | None = None, *, compiled: bool = True
) -> Coverage:
    """Return how a backend serves an operator.

    Parameters
    ----------
    definition : OpDefinition
        The operator.
    place : Place
        The backend.
    dtype : dtype or str, optional
        Only for arguments of this dtype; by default for any that the backend serves.
    compiled : bool, optional
        Whether kernels count that are there only where they were compiled.

    Examples
    --------
    >>> from tt.testing.coverage import Place, coverage, definitions_of
    >>> exp = definitions_of("exp")[0]
    >>> coverage(exp, Place("cpu")).how, coverage(exp, Place("meta")).how
    ('kernel', 'generic kernel')
    """
    name = definition.name
    operator = REGISTRY.operator(name)
    backend: Any = REGISTRY.backend(place.device, place.layout)
    asked = None if dtype is None else to_dtype(dtype)
    if asked is not None and not _holds(backend, asked):
        return Coverage(name, place, "missing")
    kernels = REGISTRY.kernels_of(name, place.device, (place.layout,))
    if not compiled:
        kernels = [r for r in kernels if not r.kernel.native]
    compute = None if asked is None else compute_dtype(operator, asked)
    if compute is not None:
        names_of_compute = {compute.name}
        if compute.name == "complex32" and definition.promote and definition.kind != "view":
            names_of_compute.add("complex64")  # in which the dispatcher computes it
        kernels = [r for r in kernels if names_of_compute & kernel_dtypes(r, definition)]
    # In the order in which a call is resolved: kernel, generic kernel, a preferred fallback, composite, fallback.
    if kernels:
        served = set[str]().union(*(kernel_dtypes(r, definition) for r in kernels))
        dtypes = tuple(d.name for d in ALL_DTYPES if d.name in served)
        sources = tuple(dict.fromkeys(map(str, kernels)))
        return Coverage(name, place, "kernel", dtypes, sources, _computed_by(definition, kernels))
    if backend.generic_kernel(operator) is not None:
        source = str(REGISTRY.backend_sources[_key(place)])
        return Coverage(name, place, "generic kernel", (), (source,), ("own kernel",))
    fallback = _fallback(definition, backend, asked)
    if fallback and backend.prefer_fallback and policy_of(place.device) != "error":
        return Coverage(name, place, "fallback", fallback.dtypes, fallback.sources, fallback.computed_by)
    composite = REGISTRY.composite(name)
    if composite is not None and backend.takes_composite(name):
        return Coverage(name, place, "composite", (), (str(composite),), ("other operators",))
    if fallback:
        return Coverage(name, place, "fallback", fallback.dtypes, fallback.sources, fallback.computed_by)
    calls = {r.layouts for r in REGISTRY.kernels.get(name, ())}
    if definition.signature.namespace != "tt" and calls and (place.layout,) not in calls:
        return Coverage(name, place, "other layout")
    return Coverage(name, place, "missing")


def _computed_by(definition: OpDefinition, kernels: list[Registration]) -> tuple[str, ...]:
    """Return what computes in kernels, in the order in which a call tries them."""
    if definition.kind == "view":
        return ("view",)
    ranks = ranks_of(eligibilities_of(kernels), [r.source for r in kernels])
    order = sorted(ranks, key=lambda i: (ranks[i], -kernels[i].kernel.priority, not kernels[i].kernel.native))
    return tuple(dict.fromkeys(computed_by(kernels[i].kernel) for i in order))


def _fallback(definition: OpDefinition, backend: Backend, dtype: Dtype | None) -> Coverage | None:
    """Return how the device serves an operator to which a backend's calls may fall back."""
    if backend.fallback is None or backend.fallback == backend.device_type:
        return None
    result = coverage(definition, Place(backend.fallback), dtype)
    return None if result.how in ("missing", "other layout") else result


def passed_over(definition: OpDefinition, place: Place) -> tuple[str, ...]:
    """Return the kernels for a place that take no part currently, each with the reason."""
    registrations = REGISTRY.all_kernels_of(definition.name, place.device, (place.layout,))
    eligibilities = [(registration, registration.eligibility()) for registration in registrations]
    return tuple(f"{r}: {standing.refusal}" for r, standing in eligibilities if standing.refusal)


def _holds(backend: Backend, dtype: Dtype) -> bool:
    """Return whether the arrays of a backend can have a dtype; one whose library is not there is believed to."""
    try:
        backend.native_dtype(dtype)
    except (DtypeError, KeyError):
        return False
    except (ImportError, OSError, RuntimeError):  # no library or no driver, of which DeviceError is one
        return True
    return True


def _key(place: Place) -> tuple[str, str]:
    return place.device, place.layout
