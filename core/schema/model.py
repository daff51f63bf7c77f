"""The content of ops.yaml, as frozen dataclasses.

Printing a signature gives back the text that was parsed; `grammar` refuses any other spelling.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tt.core.schema.arguments import MISSING, Alias, Argument, Entries, Return, Type
from tt.core.schema.words import AUTOCAST, BASES, KINDS, RESULTS, TAGS, VARIANTS

__all__ = [
    "AUTOCAST",
    "BASES",
    "KINDS",
    "MISSING",
    "RESULTS",
    "TAGS",
    "VARIANTS",
    "Alias",
    "Argument",
    "Entries",
    "OpDefinition",
    "Return",
    "Signature",
    "Type",
]


class Signature(NamedTuple):
    """The signature of one overload of an operator.

    Attributes
    ----------
    namespace : str
        "tt", or the namespace of a third party.
    name, overload : str
        "max" and "dim" of `max.dim`; the overload may be empty.
    arguments : tuple of Argument
        In order; those after the `*` are keyword-only.
    returns : tuple of Return
        In order.

    Examples
    --------
    >>> from tt.core.schema import Signature
    >>> s = Signature.parse("add(Tensor self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor")
    >>> s.qualified, [a.name for a in s.tensor_arguments]
    ('add', ['self', 'other'])
    >>> print(s.inplace())
    add_(Tensor(a!) self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor(a!)
    >>> print(s.out())
    add.out(Tensor self, Tensor|Scalar other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
    """

    namespace: str
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]

    @staticmethod
    def parse(text: str, *, any_spelling: bool = False) -> Signature:
        """Return the signature that a text describes.

        Parameters
        ----------
        text : str
            The signature; by default in the one spelling in which it is printed.
        any_spelling : bool
            Take other spellings, too: `float x=2`, other spaces, PyTorch's names of types.

        Raises
        ------
        SchemaError
            With every mistake and its column.
        """
        from tt.core.schema.grammar import parse  # which makes instances of this class

        return parse(text, any_spelling=any_spelling)

    @property
    def qualified(self) -> str:
        """The name with namespace (unless it is tt) and overload: "add", "max.dim", "acme::twice"."""
        name = self.name if self.namespace == "tt" else f"{self.namespace}::{self.name}"
        return f"{name}.{self.overload}" if self.overload else name

    @property
    def tensor_arguments(self) -> tuple[Argument, ...]:
        """The arguments that take tensors or lists of tensors."""
        return tuple(a for a in self.arguments if a.type.is_tensor)

    @property
    def positional(self) -> tuple[Argument, ...]:
        """The arguments before the `*`."""
        return tuple(a for a in self.arguments if not a.keyword_only)

    @property
    def keyword_only(self) -> tuple[Argument, ...]:
        """The arguments after the `*`."""
        return tuple(a for a in self.arguments if a.keyword_only)

    def argument(self, name: str) -> Argument | None:
        """Return the argument of a name, or None."""
        return next((a for a in self.arguments if a.name == name), None)

    def __str__(self) -> str:
        parts, seen_star = [], False
        for argument in self.arguments:
            if argument.keyword_only and not seen_star:
                parts.append("*")
                seen_star = True
            parts.append(str(argument))
        returns = ", ".join(map(str, self.returns))
        if len(self.returns) != 1 or self.returns[0].name is not None:
            returns = f"({returns})"
        return f"{self.qualified}({', '.join(parts)}) -> {returns}"

    def inplace(self) -> Signature:
        """Return the signature of the in-place form: the first argument is changed and returned.

        Raises
        ------
        ValueError
            If the first argument or the only return is not a tensor.
        """
        first = self.arguments[0] if self.arguments else None
        plain = Type("Tensor")
        if first is None or first.type != plain or len(self.returns) != 1 or self.returns[0].type != plain:
            raise ValueError(
                f"{self} has no in-place form: it must take a tensor first and return one tensor"
            )
        # The new alias set must differ from those in use, or the result would alias other arguments.
        taken = {s for a in self.arguments[1:] if a.alias for s in a.alias.sets}
        alias = Alias((next(_fresh(taken)),), write=True)
        return self._replace(
            name=self.name + "_",
            arguments=(first._replace(alias=alias), *self.arguments[1:]),
            returns=(Return(None, plain, alias),),
        )

    def out(self) -> Signature:
        """Return the signature of the form that writes into given tensors.

        Raises
        ------
        ValueError
            If a return is not a tensor.
        """
        plain = Type("Tensor")
        if not self.returns or any(r.type != plain for r in self.returns):
            raise ValueError(f"{self} has no out= form: it must return tensors")
        taken = {s for a in self.arguments if a.alias for s in a.alias.sets}
        fresh = _fresh(taken)
        names = (
            ["out"] if len(self.returns) == 1 else [r.name or f"out{i}" for i, r in enumerate(self.returns)]
        )
        aliases = [Alias((next(fresh),), write=True) for _ in self.returns]
        outs = [Argument(n, plain, MISSING, True, a) for n, a in zip(names, aliases, strict=True)]
        return self._replace(
            # As PyTorch mostly names overloads with `out=`.
            overload=f"{self.overload}_out" if self.overload else "out",
            arguments=(*self.arguments, *outs),
            returns=tuple(r._replace(alias=a) for r, a in zip(self.returns, aliases, strict=True)),
        )


def _fresh(taken: set[str]) -> Any:
    """Yield the names of alias sets that are free: a, b, ... z, a1, ..."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return (name for n in range(100) for letter in letters if (name := f"{letter}{n or ''}") not in taken)


# --- definitions -----------------------------------------------------------------------------------------------


class OpDefinition(NamedTuple):
    """One entry of ops.yaml; the `keys` of an entry are documented where they are listed, in `FIELDS` of `load`.

    Attributes
    ----------
    signature : Signature
        Key `func`.
    meta : str, ShapeRule or None
        Key `meta`: the name of the shape rule; of an operator that is defined in a program also the rule itself.
    module : str
        Key `python_module`: where the function goes below tt ("" is tt itself).
    family : str
        The key of `ops` under which the entry stands: the folder of `operators/` with its rule, composite and samples.
        Empty in a file that has a list of entries.
    location : (str, int)
        File and line of the entry.

    Examples
    --------
    >>> from tt.library import OpDefinition, Signature
    >>> twice = OpDefinition(Signature.parse("acme::twice(Tensor x) -> Tensor"), "other", meta="like")
    >>> twice.signature.namespace, twice.variants
    ('acme', ('function',))
    """

    signature: Signature
    kind: str
    meta: Any = None
    promote: tuple[str, ...] = ()
    result: str | tuple[str, ...] = "default"
    dtypes: str | tuple[str, ...] = "all"
    variants: tuple[str, ...] = ("function",)
    grad: tuple[str, ...] = ()
    format_of: tuple[str, ...] = ()
    in_range: tuple[str, ...] = ()
    in_compute_range: tuple[str, ...] = ()
    autocast: str = ""
    autocast_cpu: str = ""
    core: bool = False
    ref: str | None = None
    samples: str | None = None
    tags: tuple[str, ...] = ()
    doc: str = ""
    example: str | None = None
    module: str = ""
    aliases: tuple[str, ...] = ()
    family: str = ""
    location: tuple[str, int] = ("", 0)

    @property
    def name(self) -> str:
        """The qualified name of the overload: "add", "max.dim", "acme::twice"."""
        return self.signature.qualified

    @property
    def inplace_name(self) -> str:
        """The name of the in-place form, without overload: "add_"."""
        signature = self.signature
        return (
            f"{signature.name}_"
            if signature.namespace == "tt"
            else f"{signature.namespace}::{signature.name}_"
        )

    @property
    def python_name(self) -> str:
        """The name of the function in its module: "svd" for linalg_svd in linalg."""
        return self.signature.name.removeprefix(self.module.rpartition(".")[2] + "_") if self.module else (
            self.signature.name
        )  # fmt: skip

    @property
    def public_names(self) -> tuple[str, ...]:
        """The names of the function below tt, aliases included; none if it is not a public function."""
        if not self.has_function or "internal" in self.tags:
            return ()
        return (f"{self.module}.{self.python_name}" if self.module else self.python_name, *self.aliases)

    @property
    def has_function(self) -> bool:
        """Whether it has a public function."""
        return "function" in self.variants

    @property
    def has_method(self) -> bool:
        """Whether it has a method."""
        return "method" in self.variants

    @property
    def has_property(self) -> bool:
        """Whether it is an attribute of tensors."""
        return "property" in self.variants

    def autocast_policy(self, device_type: str) -> str:
        """Return the word for autocast on devices of a type; empty if the operator is left alone."""
        word = (self.autocast_cpu or self.autocast) if device_type == "cpu" else self.autocast
        return "" if word == "none" else word

    @property
    def undifferentiated(self) -> bool:
        """Whether no gradient goes through it, not even through its composite."""
        return "nondifferentiable" in self.tags or "no_derivative" in self.tags

    @property
    def has_inplace(self) -> bool:
        """Whether it has an in-place form."""
        return "inplace" in self.variants

    @property
    def has_out(self) -> bool:
        """Whether the function takes out=."""
        return "out" in self.variants
