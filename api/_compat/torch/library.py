"""torch.library: tt.library's functions, of which those that implement operators take functions over tensors.

What tt.library calls a kernel gets the native arrays of its device.  PyTorch's libraries write functions over tensors,
and unmodified ones must keep them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from tt.core.custom_op import registrations as parts
from tt.core.custom_op.custom_op import CustomOp
from tt.core.custom_op.define import custom_op as _custom_op
from tt.core.custom_op.library import Kind, implement, keep_with
from tt.core.custom_op.library import Library as _Library
from tt.core.custom_op.library import register_kernel as _register_kernel
from tt.errors import UnsupportedError
from tt.library import (
    define,
    get_ctx,
    get_kernel,
    impl_abstract,
    infer_schema,
    opcheck,
    register_autocast,
    register_autograd,
    register_fake,
    register_torch_dispatch,
    register_vmap,
)

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]

CustomOpDef = CustomOp


class Library(_Library):
    """Operators of a namespace, as `tt.library.Library`; `impl` takes functions over tensors.

    Examples
    --------
    >>> import tt
    >>> from tt._compat.torch.library import Library
    >>> with Library("doc", "FRAGMENT") as lib:
    ...     name = lib.define("scaled(Tensor x, float by=2.0) -> Tensor")
    ...     kernel = lib.impl(name, lambda x, by=2.0: x.clone().mul_(by), "CPU")
    ...     tt.ops.doc.scaled(tt.ones(2))
    tensor([2., 2.])
    """

    _over_tensors = True

    def define(self, schema: str, alias_analysis: str = "", **options: Any) -> str:
        """Define an operator, and return its name without that of the overload, as PyTorch does."""
        return (
            super()
            .define(schema, alias_analysis, **{**options, "tags": _words(options.get("tags"))})
            .partition(".")[0]
        )

    def _destroy(self) -> None:
        self.destroy()


@contextmanager
def _scoped_library(ns: str, kind: Kind, dispatch_key: str = "") -> Iterator[Library]:
    with Library(ns, kind, dispatch_key) as lib:
        yield lib


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str] = (),
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Define an operator as `tt.library.custom_op` does; `register_kernel` of the result takes functions over tensors.

    Examples
    --------
    >>> import tt
    >>> from tt._compat.torch.library import custom_op
    >>> @custom_op("doc::doubled", mutates_args=())
    ... def doubled(x: tt.Tensor) -> tt.Tensor:
    ...     return x * 2
    >>> doubled(tt.ones(1))
    tensor([2.])
    >>> doubled.remove()
    """

    def define(function: Callable[..., Any]) -> CustomOp:
        op: CustomOp = _custom_op(
            name, mutates=mutates_args, device_types=device_types, schema=schema, tags=_words(tags)
        )(function)
        op._over_tensors = True
        return op

    return define if fn is None else define(fn)


def _words(tags: Any) -> tuple[str, ...]:
    """Return those of PyTorch's tags that tt has, by their names; the rest speaks to its compiler."""
    if tags is None:
        return ()
    from tt.core.schema.model import TAGS

    several = (tags,) if isinstance(tags, str) or not isinstance(tags, Iterable) else tuple(tags)
    names = [getattr(tag, "name", str(tag)) for tag in several]
    return tuple(_TAGS.get(name, name) for name in names if _TAGS.get(name, name) in {*TAGS, "pointwise"})


_TAGS = {"dynamic_output_shape": "data_dependent_shape", "data_dependent_output": "data_dependent"}
"""PyTorch's tags -> tt's."""


def impl(
    qualname: Any,
    types: str | Sequence[str],
    func: Callable[..., Any] | None = None,
    *,
    lib: _Library | None = None,
) -> Any:
    """Implement an operator for device types or "default" by a function over tensors; without `func`, a decorator.

    Examples
    --------
    >>> import tt
    >>> from tt import library
    >>> from tt._compat.torch.library import impl
    >>> with library.scoped():
    ...     library.define("doc::twice", "(Tensor x) -> Tensor")
    ...     impl("doc::twice", "cpu", lambda x: x.add(x))
    ...     tt.ops.doc.twice(tt.ones(2))
    tensor([2., 2.])
    """
    if isinstance(qualname, _Library):
        # The older form: impl(lib, name, key).
        return qualname.impl(types, dispatch_key=str(func or ""))
    operator = parts.operator_of(qualname)

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for key in (types,) if isinstance(types, str) else types:
            keep_with(lib, implement(operator, key, function, {}, over_tensors=True))
        return function

    if func is None:
        return add
    add(func)
    return None


def register_kernel(
    op: Any,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: _Library | None = None,
) -> Any:
    """Implement an operator for device types, or None for all, by a function over tensors; or a decorator.

    Examples
    --------
    >>> import tt
    >>> from tt import library
    >>> from tt._compat.torch.library import register_kernel
    >>> with library.scoped():
    ...     library.define("doc::twice", "(Tensor x) -> Tensor")
    ...     @register_kernel("doc::twice", "cpu")
    ...     def twice(x):
    ...         return x.add(x)
    ...     tt.ops.doc.twice(tt.ones(2))
    tensor([2., 2.])
    """
    return _register_kernel(op, device_types, func, lib=lib, over_tensors=True)


def fallthrough_kernel() -> NoReturn:
    """Refuse: tt's dispatcher has no keys that fall through to the next.

    Raises
    ------
    UnsupportedError
        Always.
    """
    raise UnsupportedError("torch.library.fallthrough_kernel: tt's dispatcher has no keys that fall through")


def triton_op(name: str, fn: Any = None, /, *, mutates_args: Any = (), schema: str | None = None) -> NoReturn:
    """Refuse: tt runs no kernels of Triton.

    Raises
    ------
    UnsupportedError
        Always.
    """
    raise UnsupportedError(
        f"torch.library.triton_op({name!r}): tt runs no kernels of Triton\n"
        "  try: torch.library.custom_op with an implementation in other operators"
    )


def wrap_triton(triton_kernel: Any, /) -> NoReturn:
    """Refuse: tt runs no kernels of Triton.

    Raises
    ------
    UnsupportedError
        Always.
    """
    raise UnsupportedError("torch.library.wrap_triton: tt runs no kernels of Triton")
