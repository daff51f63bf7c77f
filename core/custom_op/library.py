"""`Library`: operators of a namespace, one by one or from whole files; and what `torch.library` has as functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from tt.core.custom_op import registrations as parts
from tt.core.custom_op.custom_op import CustomOp, make_op, when_defined
from tt.core.custom_op.define import check_name, custom_op, definition_of, signature_of
from tt.core.dispatch.registry.definitions import read_definitions
from tt.core.dispatch.registry.registry import REGISTRY, RegistrationHandle
from tt.core.errors import ArgumentError, DuplicateRegistrationError, ValueRangeError, did_you_mean
from tt.core.schema.model import Signature
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.user_warnings import warn_user

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

__all__ = [
    "Library",
    "define",
    "impl",
    "impl_abstract",
    "implement",
    "keep_with",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_tt_dispatch",
    "register_vmap",
]

Kind = Literal["DEF", "IMPL", "FRAGMENT"]
KINDS: Final = ("DEF", "IMPL", "FRAGMENT")
Function = TypeVar("Function", bound=Callable[..., Any])

_COMPOSITE: Final = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "default")
"""PyTorch's keys for an implementation in other operators."""

_owners: dict[str, Library] = {}


class Library:
    """Operators of one namespace: definitions, kernels and all else, undone together.

    Parameters
    ----------
    ns : str
        The namespace.
    kind : str
        "FRAGMENT" (the default) defines and implements operators, and there may be several for a namespace; "DEF" does
        so as the only library of its kind; "IMPL" only implements existing operators.
    dispatch_key : str
        The default dispatch key of `impl`: a device type, for instance "cpu".

    Raises
    ------
    ValueRangeError
        For an unknown kind.
    DuplicateRegistrationError
        For a second "DEF" of a namespace.

    Examples
    --------
    >>> import tt
    >>> from tt.library import Library
    >>> with Library("doc") as lib:
    ...     name = lib.define("scaled(Tensor x, float by=2.0) -> Tensor")
    ...     kernel = lib.impl(name, lambda x, by: x * x.dtype.type(by), "cpu")
    ...     tt.ops.doc.scaled(tt.ones(2))
    tensor([2., 2.])
    >>> hasattr(tt.ops, "doc")
    False
    """

    _over_tensors = False
    """Whether functions for device types take tensors, as in PyTorch, instead of native arrays."""

    def __init__(self, ns: str, kind: Kind = "FRAGMENT", dispatch_key: str = "") -> None:
        if kind not in KINDS:
            raise ValueRangeError(
                f"Library: unknown kind {kind!r}{did_you_mean(str(kind), KINDS)}\n  there are: {', '.join(KINDS)}"
            )
        check_name(f"{ns}::name")
        # One "DEF" for each namespace, as in PyTorch; fragments may be many.
        if kind == "DEF" and ns in _owners:
            raise DuplicateRegistrationError(
                f"the library that defines {ns}", "this program", "this program", hint='kind "FRAGMENT"'
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._handles: list[RegistrationHandle] = []
        if kind == "DEF":
            _owners[ns] = self
            self._keep(
                # Noted in the scope, so that a test that fails to destroy its library leaves no owner.
                REGISTRY.scopes.note(
                    RegistrationHandle(lambda: _owners.pop(ns, None), f"the library that defines {ns}")
                )
            )

    def __repr__(self) -> str:
        return f"Library(ns={self.ns!r}, kind={self.kind!r}, dispatch_key={self.dispatch_key!r})"

    # --- the end -----------------------------------------------------------------------------------------------

    @property
    def handles(self) -> tuple[RegistrationHandle, ...]:
        """The handles of all that was registered and not undone, in order."""
        return tuple(handle for handle in self._handles if handle.active)

    def destroy(self) -> None:
        """Undo everything, the last first.  Doing it twice does nothing."""
        # The last first: kernels go before the operator that they belong to.
        while self._handles:
            self._handles.pop().remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.destroy()

    def _keep(self, handle: RegistrationHandle) -> RegistrationHandle:
        self._handles.append(handle)
        return handle

    # --- operators ---------------------------------------------------------------------------------------------

    def _may_define(self) -> None:
        if self.kind == "IMPL":
            raise ArgumentError(
                "Library.define",
                f'the library of {self.ns} is of the kind "IMPL", which implements operators that others define',
                hint='use the kind "FRAGMENT"',
            )

    def _full(self, name: str) -> str:
        """Return a name with the namespace of the library.

        Raises
        ------
        ArgumentError
            When it has another.
        """
        namespace, separator, short = name.partition("::")
        if separator and namespace != self.ns:
            raise ArgumentError("Library", f"{name!r} is not in the namespace {self.ns!r} of the library")
        return f"{self.ns}::{short if separator else name}"

    def define(
        self,
        schema: str,
        alias_analysis: str = "",
        *,
        tags: str | Sequence[str] = (),
        result: str | Sequence[str] = "same",
        doc: str = "",
    ) -> str:
        """Define an operator, and return its name.

        Parameters
        ----------
        schema : str
            "name(Tensor x) -> Tensor", with or without the namespace.
        alias_analysis : str
            Accepted for compatibility with PyTorch: only the schema declares shared memory.
        tags, result, doc
            As those of `custom_op`.
        """
        self._may_define()
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise ValueRangeError(f"Library.define: unknown alias_analysis {alias_analysis!r}")
        signature = Signature.parse(self._full(schema), any_spelling=True)
        words = (tags,) if isinstance(tags, str) else tuple(tags)
        op = make_op(definition_of(signature, result=result, tags=words, doc=doc))
        self._keep(op.handles[0])
        return signature.qualified.partition("::")[2]

    def custom_op(self, name: str, fn: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Define an operator from annotations, as `tt.library.custom_op` does; without a function, a decorator.

        Examples
        --------
        >>> import tt
        >>> from tt.library import Library
        >>> lib = Library("doc")
        >>> @lib.custom_op("same")
        ... def same(x: tt.Tensor) -> tt.Tensor:
        ...     return x.clone()
        >>> tt.ops.doc.same(tt.ones(1))
        tensor([1.])
        >>> lib.destroy()
        """
        self._may_define()

        def make(function: Callable[..., Any]) -> CustomOp:
            op: CustomOp = custom_op(self._full(name), **options)(function)
            self._keep(RegistrationHandle(op.remove, f"operator {op.name}"))
            return op

        return make if fn is None else make(fn)

    def load(self, path: str | os.PathLike[str]) -> list[str]:
        """Define the operators of a YAML file (docs/schema.md), and return their names.

        Raises
        ------
        SchemaError
            With all mistakes of the file.
        ArgumentError
            When an operator of the file is in another namespace.
        """
        self._may_define()
        loaded = read_definitions(path)
        for name in [definition.name for definition in loaded]:
            if name.partition("::")[0] != self.ns or "::" not in name:
                raise ArgumentError(
                    "Library.load",
                    f"{name!r} in {os.fspath(path)} is not in the namespace {self.ns!r} of the library",
                    hint=f"write namespace: {self.ns} at the top of the file",
                )
        self._keep(REGISTRY.add_definitions(loaded))
        return [definition.name.partition("::")[2] for definition in loaded]

    def add(self, table: Any) -> RegistrationHandle:
        """Register a table of kernels, composites or formulas."""
        return self._keep(REGISTRY.add(table))

    # --- implementations ---------------------------------------------------------------------------------------

    def impl(self, op_name: Any, fn: Function | None = None, dispatch_key: str = "", **options: Any) -> Any:
        """Implement an operator for a device; without a function, return a decorator.

        Parameters
        ----------
        op_name : str
            With or without the namespace; or the operator.
        fn : callable, optional
            A kernel over native arrays; for the key "meta" a fake over meta tensors, for "default" (or PyTorch's
            "CompositeImplicitAutograd") a function over tensors.
        dispatch_key : str
            A device type, in any case ("CPU"); by default the library's.
        **options
            `dtypes`, `layout`, `form` and `override` of a kernel.
        """
        key = dispatch_key or self.dispatch_key
        if not key:
            raise ArgumentError(
                "Library.impl",
                f"for which device is the implementation of {op_name}?",
                hint="impl(name, fn, 'cpu')",
            )
        operator = parts.operator_of(self._full(op_name) if isinstance(op_name, str) else op_name)

        def add(function: Function) -> Function:
            self._keep(implement(operator, key, function, options, over_tensors=self._over_tensors))
            return function

        return add if fn is None else add(fn)

    def kernel(self, op_name: Any, device_types: str | Sequence[str], fn: Any = None, **options: Any) -> Any:
        """Add a kernel for one or several device types, as `CustomOp.kernel`; without a function, a decorator."""
        devices = [device_types] if isinstance(device_types, str) else list(device_types)
        operator = parts.operator_of(self._full(op_name) if isinstance(op_name, str) else op_name)

        def add(function: Function) -> Function:
            for device in devices:
                self._keep(parts.add_kernel(operator, device, function, **options))
            return function

        return add if fn is None else add(fn)


def implement(
    operator: Any,
    key: str,
    function: Callable[..., Any],
    options: dict[str, Any],
    *,
    over_tensors: bool = False,
) -> RegistrationHandle:
    """Register an implementation under a device type or one of PyTorch's dispatch keys."""
    if key in _COMPOSITE and over_tensors:
        return parts.add_tensor_kernel(operator, None, function)
    if key in _COMPOSITE:
        return parts.add_composite(operator, function)
    if key.lower() == "meta":
        return parts.add_fake(operator, function)
    if key.startswith("Autocast"):
        # PyTorch calls CUDA's key by both names.
        return parts.add_autocast(operator, key.removeprefix("Autocast").lower() or "cuda", function)
    # PyTorch's other keys of layers have no meaning here, and a kernel under such a name would never run.
    if key.lower().startswith(("autograd", "composite", "functorch", "adinplace")):
        raise ArgumentError(
            "impl",
            f"unknown dispatch key {key!r}",
            hint="gradients: register_autograd; batching: register_vmap; in other operators: 'default'",
        )
    if over_tensors:
        return parts.add_tensor_kernel(operator, key.lower() if key.isupper() else key, function)
    # Written as PyTorch's key ("CPU") or as a device type.
    return parts.add_kernel(operator, key.lower() if key.isupper() else key, function, **options)


# --- PyTorch's functions -----------------------------------------------------------------------------------------


def keep_with(lib: Library | None, handle: RegistrationHandle) -> None:
    """Let a library, if there is one, undo a registration with its others."""
    if lib is not None:
        lib._keep(handle)


def define(
    qualname: str,
    schema: str,
    *,
    lib: Library | None = None,
    tags: str | Sequence[str] = (),
    result: str | Sequence[str] = "same",
) -> None:
    """Define an operator; `impl`, `register_fake` and the others implement it.

    Parameters
    ----------
    qualname : str
        "namespace::name".
    schema : str
        "(Tensor x) -> Tensor".
    lib : Library, optional
        What undoes the definition.
    tags, result
        As those of `custom_op`.

    Examples
    --------
    >>> import tt
    >>> from tt import library
    >>> with library.scoped():
    ...     library.define("doc::negated", "(Tensor x) -> Tensor")
    ...     library.impl("doc::negated", "cpu", lambda x: -x)
    ...     tt.ops.doc.negated(tt.ones(1))
    tensor([-1.])
    """
    check_name(qualname)
    signature = signature_of(qualname, schema)
    words = (tags,) if isinstance(tags, str) else tuple(tags)
    op = make_op(definition_of(signature, result=result, tags=words))
    keep_with(lib, op.handles[0])


def impl(
    qualname: Any,
    types: str | Sequence[str],
    func: Any = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Implement an operator for device types ("default": for all, in other operators); without `func`, a decorator.

    Kernels get the native arrays of their device, the function for "default" gets tensors.  `impl(lib, name, key)`
    returns a decorator that implements an operator of a library, as PyTorch's older form does.

    Examples
    --------
    >>> import tt
    >>> from tt import library
    >>> with library.scoped():
    ...     library.define("doc::twice", "(Tensor x) -> Tensor")
    ...     library.impl("doc::twice", "cpu", lambda x: x + x)
    ...     tt.ops.doc.twice(tt.ones(2))
    tensor([2., 2.])
    """
    if isinstance(qualname, Library):
        return qualname.impl(types, dispatch_key=func or "")
    operator = parts.operator_of(qualname)

    def add(function: Callable[..., Any]) -> None:
        for key in (types,) if isinstance(types, str) else types:
            keep_with(lib, implement(operator, key, function, {}))

    if func is None:

        def decorate(function: Function) -> Function:
            add(function)
            return function

        return decorate
    add(func)
    return None


def _registration(
    op: Any, add: Callable[[Any, Any], Iterable[RegistrationHandle]], func: Any, lib: Library | None
) -> Any:
    """Register a part with an operator and, if it is a custom one, with its handles."""
    operator = parts.operator_of(op)

    def register(function: Function) -> Function:
        # One function, perhaps several handles: each device has its own.
        for handle in add(operator, function):
            keep_with(lib, handle)
            overload = operator.overload()
            if isinstance(overload, CustomOp):
                overload._keep(function, handle)
        return function

    return register if func is None else register(func)


def register_kernel(
    op: Any,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    over_tensors: bool = False,
    **options: Any,
) -> Any:
    """Add a kernel for device types, or for None an implementation in other operators; without `func`, a decorator.

    Parameters
    ----------
    op : str, CustomOp or operator
        For instance "acme::twice".
    device_types : str, sequence of str, or None
        Where it serves.
    func : callable, optional
        Over native arrays; for None over tensors.
    lib : Library, optional
        What undoes the registration.
    over_tensors : bool
        Whether the function takes tensors for device types, too.
    **options
        `dtypes`, `layout`, `form` and `override` of a kernel.

    Examples
    --------
    >>> import tt
    >>> from tt import library
    >>> with library.scoped():
    ...     library.define("doc::twice", "(Tensor x) -> Tensor")
    ...     @library.register_kernel("doc::twice", "cpu")
    ...     def twice(x):
    ...         return x + x
    ...     tt.ops.doc.twice(tt.ones(2))
    tensor([2., 2.])
    """
    if over_tensors:
        several = (
            (device_types,) if device_types is None or isinstance(device_types, str) else tuple(device_types)
        )
        return _registration(
            op,
            lambda operator, f: [parts.add_tensor_kernel(operator, device, f) for device in several],
            func,
            lib,
        )
    if device_types is None:
        return _registration(op, lambda operator, f: [parts.add_composite(operator, f)], func, lib)
    devices = (device_types,) if isinstance(device_types, str) else tuple(device_types)
    return _registration(
        op,
        lambda operator, f: [parts.add_kernel(operator, device, f, **options) for device in devices],
        func,
        lib,
    )


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Add what makes the results of tensors without data; without `func`, a decorator.

    The operator may be defined later, or never: then there is nothing to make results for.

    Examples
    --------
    >>> import tt
    >>> from tt import library
    >>> with library.scoped():
    ...     library.define("doc::twice", "(Tensor x) -> Tensor")
    ...     @library.register_fake("doc::twice")
    ...     def twice(x):
    ...         return x.new_empty(x.shape)
    ...     tt.ops.doc.twice(tt.empty(2, 3, device="meta")).shape
    tt.Size([2, 3])
    """
    if isinstance(op, str) and "::" in op and not REGISTRY.overloads(op.removesuffix(".default")):
        name = op.removesuffix(".default")

        def wait(function: Function) -> Function:
            keep_with(lib, when_defined(name, lambda operator: parts.add_fake(operator, function), "fake"))
            return function

        return wait if func is None else wait(func)
    return _registration(op, lambda operator, f: [parts.add_fake(operator, f)], func, lib)


def impl_abstract(
    qualname: Any, func: Callable[..., Any] | None = None, *, lib: Library | None = None
) -> Any:
    """Do as `register_fake`, whose former name it is, and warn.

    Examples
    --------
    >>> import warnings
    >>> import tt
    >>> from tt import library
    >>> with library.scoped(), warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     library.define("doc::twice", "(Tensor x) -> Tensor")
    ...     _ = library.impl_abstract("doc::twice", lambda x: x.new_empty(x.shape))
    ...     tt.ops.doc.twice(tt.empty(2, device="meta")).shape
    tt.Size([2])
    """
    warn_user("tt.library.impl_abstract is now tt.library.register_fake", FutureWarning)
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., None] | None = None,
    lib: Library | None = None,
) -> None:
    """Add a gradient: `backward(ctx, *gradients)`, and `setup_context(ctx, inputs, output)`, which saves for it.

    Examples
    --------
    >>> import tt
    >>> from tt import library
    >>> with library.scoped():
    ...     library.define("doc::twice", "(Tensor x) -> Tensor")
    ...     library.impl("doc::twice", "cpu", lambda x: x + x)
    ...     library.register_autograd("doc::twice", lambda ctx, gradient: 2 * gradient)
    ...     x = tt.ones(2, requires_grad=True)
    ...     tt.ops.doc.twice(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    _registration(op, lambda operator, f: [parts.add_backward(operator, f, setup_context)], backward, lib)


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Add a batching rule: `func(info, in_dims, *args)` returns the result and the dim of the examples in it.

    Examples
    --------
    >>> import tt
    >>> from tt import library
    >>> with library.scoped():
    ...     library.define("doc::twice", "(Tensor x) -> Tensor")
    ...     library.impl("doc::twice", "cpu", lambda x: x + x)
    ...     @library.register_vmap("doc::twice")
    ...     def rule(info, in_dims, x):
    ...         return tt.ops.doc.twice(x), in_dims[0]
    ...     tt.func.vmap(tt.ops.doc.twice)(tt.ones(2, 1))
    tensor([[2.],
            [2.]])
    """
    return _registration(op, lambda operator, f: [parts.add_vmap(operator, f)], func, lib)


def register_autocast(
    op: Any, device_type: str, cast_inputs: Dtype | str, /, *, lib: Library | None = None
) -> None:
    """Say how autocast chooses the precision of an operator on devices of a type.

    Parameters
    ----------
    op : str or operator
        For instance "acme::twice".
    device_type : str
        For instance "cpu".
    cast_inputs : dtype or str
        The dtype to which the floating tensors among the arguments are cast, float64 excepted; or a policy of the
        schema: "lower", "float32", "widest", "set_dtype", "refuse", "lower_result", "whole", "none".
    lib : Library, optional
        Undoes it with its other registrations.

    Examples
    --------
    >>> import tt
    >>> from tt import library
    >>> with library.scoped():
    ...     library.define("doc::twice", "(Tensor x) -> Tensor")
    ...     library.impl("doc::twice", "cpu", lambda x: x + x)
    ...     library.register_autocast("doc::twice", "cpu", "lower")
    ...     with tt.autocast("cpu"):
    ...         tt.ops.doc.twice(tt.ones(1)).dtype
    tt.bfloat16
    """
    keep_with(lib, parts.add_autocast(parts.operator_of(op), device_type, cast_inputs))


def register_tt_dispatch(
    op: Any,
    tt_dispatch_class: Any,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Add what answers one operator for a class with `__tt_dispatch__`, or for a mode; without `func`, a decorator.

    Neither the class nor the operator is changed.  The function gets all forms of the operator, a composite as a
    whole, and may return NotImplemented.

    Parameters
    ----------
    op : str, CustomOp or operator
        For instance "acme::twice".
    tt_dispatch_class : type
        A subclass of `Tensor` or a `TTDispatchMode`; for its own instances, not for those of subclasses.
    func : callable, optional
        `func(cls, func, types, args, kwargs)`; of a mode, the first argument is the mode.
    lib : Library, optional
        What undoes the registration.

    Examples
    --------
    >>> import tt
    >>> from tt import library
    >>> class Plain(library.TTDispatchMode):
    ...     def __tt_dispatch__(self, func, types, args=(), kwargs=None):
    ...         return func(*args, **(kwargs or {}))
    >>> with library.scoped():
    ...     @library.custom_op("doc::twice")
    ...     def twice(x: tt.Tensor) -> tt.Tensor:
    ...         return x + x
    ...     @library.register_tt_dispatch("doc::twice", Plain)
    ...     def answer(mode, func, types, args, kwargs):
    ...         return args[0] + 10
    ...     with Plain():
    ...         twice(tt.ones(1))
    tensor([11.])
    """
    return _registration(
        op, lambda operator, f: [parts.add_tt_dispatch(operator, tt_dispatch_class, f)], func, lib
    )


register_torch_dispatch = register_tt_dispatch  # PyTorch's name
