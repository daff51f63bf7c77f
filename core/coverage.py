"""Coverage: which operators a backend serves, how, and in which dtypes, from the dispatcher's own tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tt.core.dispatch.registry import REGISTRY
from tt.core.dtype import DTYPES
from tt.core.errors import UnknownNameError
from tt.core.schema.snapshot import public_names

if TYPE_CHECKING:
    from tt.core.dispatch.registry import KernelRegistration
    from tt.core.schema.model import OpDefinition

__all__ = [
    "Coverage",
    "Place",
    "brought_by",
    "coverage",
    "definitions_of",
    "dtypes_in_words",
    "kernel_dtypes",
    "parse_place",
    "places",
]

How = Literal["kernel", "generic kernel", "composite", "other layout", "missing"]
HALF = frozenset({"float16", "bfloat16"})


@dataclass(frozen=True, slots=True)
class Place:
    """A device type with a layout, as kernels are registered for it.

    Examples
    --------
    >>> from tt.core.coverage import Place
    >>> str(Place("cpu")), str(Place("cuda", "sparse_coo"))
    ('cpu', 'cuda/sparse_coo')
    """

    device: str
    layout: str = "strided"

    def __str__(self) -> str:
        return self.device if self.layout == "strided" else f"{self.device}/{self.layout}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """How a backend serves one operator.

    Attributes
    ----------
    op : str
        Qualified name of the overload.
    place : Place
        The device and layout.
    how : str
        kernel, generic kernel (the backend serves any operator), composite, other layout (a plugin's own operator
        that is for tensors of other layouts only), or missing.
    dtypes : tuple of str
        The compute dtypes of the kernels; empty for composites, which serve what their parts serve.
    sources : tuple of str
        Who brought the kernels or the composite.
    """

    op: str
    place: Place
    how: How
    dtypes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def missing(self) -> bool:
        """Whether the backend does not serve the operator."""
        return self.how == "missing"


# --- operators and backends by name ----------------------------------------------------------------------------


def definitions_of(name: str) -> list[OpDefinition]:
    """Return the overloads that a user's name means: `add`, `max.dim`, `add_`, `linalg.svd`, `acme::twice`.

    Raises
    ------
    UnknownOpError
        When no operator has the name.
    """
    from tt.core import host

    host.load()
    if "::" in name:
        host.activate("namespace", name.partition("::")[0])
    public = name.removeprefix("tt.")
    found = public_names().get(public) or public_names().get(public.rpartition(".")[0])
    if found is not None and not REGISTRY.overloads(name):
        overload = "" if public in public_names() else "." + public.rpartition(".")[2]
        name = found + overload
    names = REGISTRY.overloads(name)
    if not names and name.endswith("_"):
        names = tuple(n for n in REGISTRY.overloads(name[:-1]) if REGISTRY.operator(n).definition.has_inplace)
    if not names:
        return [REGISTRY.operator(name).definition]
    return [REGISTRY.operator(n).definition for n in names]


def places() -> list[Place]:
    """Return every device and layout that a working plugin, or tt itself, brings."""
    from tt.core import host

    host.activate_all()
    REGISTRY.backend("meta")
    return sorted(
        (Place(*place) for place in REGISTRY.backends), key=lambda p: (p.device, p.layout != "strided")
    )


def parse_place(text: str) -> Place:
    """Return the device and layout that a text like "cpu" or "cpu/sparse_coo" means.

    Raises
    ------
    UnknownNameError
        When no plugin brings it.
    """
    known = places()
    for place in known:
        if text in (str(place), f"{place.device}/{place.layout}"):
            return place
    from tt.core import host

    host.require("device", text.partition("/")[0])
    raise UnknownNameError("backend", text, [str(place) for place in known])


def brought_by(plugin: str, definition: OpDefinition) -> list[str]:
    """Return what a plugin brings for an operator: "definition", "kernel cpu", "composite"."""
    found = ["definition"] if REGISTRY.definition_source(definition.name).plugin == plugin else []
    kernels = REGISTRY.kernels.get(definition.name, ())
    found += dict.fromkeys(f"kernel {r.where}" for r in kernels if r.source.plugin == plugin)
    composite = REGISTRY.composite(definition.name)
    if composite is not None and composite.source.plugin == plugin:
        found.append("composite")
    return found


# --- who serves what -------------------------------------------------------------------------------------------


def kernel_dtypes(registration: KernelRegistration, definition: OpDefinition) -> set[str]:
    """Return the compute dtypes that a kernel serves, with those that the dispatcher computes in float32 for it."""
    found = set(registration.dtypes)
    native = registration.kernel.half == "native" or definition.kind == "view" or not definition.promote
    if not native:
        found -= HALF
        if "float32" in found:
            found |= HALF
    return found


def coverage(definition: OpDefinition, place: Place) -> Coverage:
    """Return how a backend serves an operator."""
    kernels = REGISTRY.kernels_of(definition.name, place.device, (place.layout,))
    if kernels:
        served = set[str]().union(*(kernel_dtypes(r, definition) for r in kernels))
        dtypes = tuple(d.name for d in DTYPES if d.name in served)
        return Coverage(definition.name, place, "kernel", dtypes, tuple(str(r) for r in kernels))
    backend: Any = REGISTRY.backend(place.device, place.layout)
    if backend.generic_kernel(REGISTRY.operator(definition.name)) is not None:
        return Coverage(
            definition.name, place, "generic kernel", (), (str(REGISTRY.backend_sources[_key(place)]),)
        )
    composite = REGISTRY.composite(definition.name)
    if composite is not None:
        return Coverage(definition.name, place, "composite", (), (str(composite),))
    layouts = {layout for r in REGISTRY.kernels.get(definition.name, ()) for layout in r.layouts}
    if definition.signature.namespace != "tt" and layouts and place.layout not in layouts:
        return Coverage(definition.name, place, "other layout")
    return Coverage(definition.name, place, "missing")


def _key(place: Place) -> tuple[str, str]:
    return place.device, place.layout


# --- words -----------------------------------------------------------------------------------------------------

CLASSES = {
    "bool": ("bool",),
    "integers": tuple(d.name for d in DTYPES if d.kind in ("signed", "unsigned")),
    "floating": tuple(d.name for d in DTYPES if d.kind == "floating"),
    "complex": tuple(d.name for d in DTYPES if d.kind == "complex"),
}


def dtypes_in_words(names: Iterable[str]) -> str:
    """Return a set of dtypes in as few words as possible.

    Examples
    --------
    >>> from tt.core.coverage import dtypes_in_words
    >>> dtypes_in_words(["float16", "bfloat16", "float32", "float64", "int64"])
    'int64, floating'
    """
    found = set(names)
    if found.issuperset(d.name for d in DTYPES):
        return "all"
    words: list[str] = []
    for word, members in CLASSES.items():
        words += [word] if found.issuperset(members) else [name for name in members if name in found]
    return ", ".join(words)
