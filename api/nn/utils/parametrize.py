"""Parameters that are computed from others by modules, at each use."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import tt
from tt.nn.modules.container import ModuleDict, ModuleList
from tt.nn.modules.conversion import swaps_tensors
from tt.nn.modules.module import Module
from tt.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

# A count, since blocks may be nested; the outermost one empties the cache.
_cache_enabled = 0
_cache: dict[tuple[int, str], tt.Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once inside a `with` block, at its first use.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.utils import parametrize
    >>> with parametrize.cached():
    ...     pass
    """
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register(module: Module, name: str, tensor: tt.Tensor | None) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _set(dest: tt.Tensor, src: tt.Tensor) -> None:
    """Give a tensor the data of another one, of whatever shape, and its class if tensors are swapped."""
    if dest is src:
        return
    data = src.detach()
    if swaps_tensors():
        tt.utils.swap_tensors(
            dest, Parameter(data, dest.requires_grad) if isinstance(dest, Parameter) else data
        )
    else:
        dest.data = data


def _check(what: str, got: object, like_dtype: tt.dtype, like_shape: Sequence[int] | None = None) -> None:
    """Refuse anything but a tensor, and one that has another dtype or shape."""
    if not isinstance(got, tt.Tensor):
        raise ValueError(f"{what} must return a tensor. Got {type(got).__name__}")
    if got.dtype != like_dtype:
        raise ValueError(f"{what} may not change the dtype\n  it was {like_dtype}, and is {got.dtype}")
    if like_shape is not None and got.shape != like_shape:
        raise ValueError(
            f"{what} may not change the shape, unless unsafe=True\n  it was {like_shape}, and is {got.shape}"
        )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor in their order, with the originals.

    That is `original`, or `original0`, `original1`, ... where the first parametrization takes several tensors.

    Parameters
    ----------
    modules : sequence of Module
        The parametrizations.
    original : Tensor or Parameter
        The tensor that is parametrized.
    unsafe : bool
        Whether the result may have another dtype and shape.

    Raises
    ------
    ValueError
        If there is none, or one returns something unfit.
    """

    unsafe: bool

    def __init__(
        self, modules: Sequence[Module], original: tt.Tensor | Parameter, unsafe: bool = False
    ) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        dtype, shape, device = original.dtype, original.shape, original.device
        new: Any = original
        with tt.no_grad():
            # The last parametrization is inverted first.
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):  # it begins with the tensor as it is
                        new = module.right_inverse(new)
        if not isinstance(new, (tt.Tensor, Sequence)):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors. Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, tt.Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if isinstance(new, tt.Tensor):
            _check("'right_inverse'", new, dtype)
            if new.device != device:
                raise ValueError(
                    f"'right_inverse' may not change the device\n  it was {device}, and is {new.device}"
                )
            # The tensor object stays, so that an optimizer that has it goes on with it.
            _set(original, new)
            _register(self, "original", original)
        else:
            for index, part in enumerate(new):
                if not isinstance(part, tt.Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors. "
                        f"Got element {index} of the sequence with type {type(part).__name__}."
                    )
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                _register(self, f"original{index}", part.requires_grad_(original.requires_grad))
        # Only now: the module computes from the originals that were just registered.
        if not unsafe:
            _check("a parametrization", self(), dtype, shape)

    def right_inverse(self, value: tt.Tensor) -> None:
        """Set the originals so that the parametrized tensor has a value, through the parametrizations' right inverses.

        Parameters
        ----------
        value : Tensor
            The value.

        Raises
        ------
        RuntimeError
            If a parametrization has no right inverse.
        ValueError
            If one returns something unfit.
        """
        inverse: Any = value
        with tt.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                inverse = module.right_inverse(inverse)
        if self.is_tensor:
            _check("'right_inverse'", inverse, self.original.dtype)
            _set(self.original, inverse)
            return
        if not isinstance(inverse, Sequence) or len(inverse) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got {inverse}"
            )
        for index, part in enumerate(inverse):
            original = getattr(self, f"original{index}")
            _check(f"'right_inverse', element {index},", part, original.dtype)
            _set(original, part)

    def forward(self) -> tt.Tensor:
        """Return the parametrized tensor."""
        first, *rest = self
        if self.is_tensor:
            x: tt.Tensor = first(self.original)
        else:
            x = first(*(getattr(self, f"original{index}") for index in range(self.ntensors)))
        for module in rest:
            x = module(x)
        return x


def _inject_new_class(module: Module) -> None:
    """Make a class for this module alone, which takes the properties."""
    kind = type(module)

    # copy.deepcopy would call `__getstate__`, which refuses.
    def deepcopy(self: Module, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = replica = self.__new__(type(self))
            replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return memo[id(self)]

    def getstate(self: Module) -> Any:
        raise RuntimeError("parametrized modules are saved through state_dict(), not pickled")

    members: dict[str, Any] = {"__getstate__": getstate, "__module__": kind.__module__}
    if not hasattr(kind, "__deepcopy__"):
        members["__deepcopy__"] = deepcopy
    # Properties belong to classes, so each parametrized module needs a class of its own.
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), members)


def _inject_property(module: Module, name: str) -> None:
    """Make a name of the module's class compute the tensor."""

    def get(self: Module) -> Any:
        computation = self.parametrizations[name]
        if not _cache_enabled:
            return computation()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = computation()
        return _cache[key]

    def put(self: Module, value: tt.Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Have a parameter or buffer of a module computed by a parametrization.

    Reading `module.weight` calls it with the original tensor; assigning to `module.weight` needs its method
    `right_inverse`.  A second parametrization of the same tensor is called with the result of the first.

    Parameters
    ----------
    module : Module
        The module.
    tensor_name : str
        The name of the parameter or buffer.
    parametrization : Module
        Computes the tensor.
    unsafe : bool
        Whether its result may have another dtype and shape; nothing is checked then.

    Returns
    -------
    Module
        `module`.

    Raises
    ------
    ValueError
        If the module has no such tensor, or the parametrization returns an unsuitable value.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.utils import parametrize
    >>> class Symmetric(tt.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = parametrize.register_parametrization(tt.nn.Linear(3, 3), "weight", Symmetric())
    >>> tt.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    owner: Any = module
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = getattr(owner, tensor_name)
            after = parametrization(before)
            _check("a parametrization", after, before.dtype, before.shape)
            if hasattr(parametrization, "right_inverse"):
                try:
                    back = parametrization.right_inverse(after)
                except NotImplementedError:
                    pass
                else:
                    _check("'right_inverse'", back, before.dtype, before.shape)
        owner.parametrizations[tensor_name].append(parametrization)
        owner.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        parametrizations = ParametrizationList([parametrization], getattr(owner, tensor_name), unsafe=unsafe)
        # The original is registered again below `parametrizations`; its own name is left to the property.
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        owner.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a module has a parametrization, or one for a tensor."""
    lists = getattr(module, "parametrizations", None)
    if not isinstance(lists, ModuleDict):
        return False
    return len(lists) > 0 if tensor_name is None else tensor_name in lists


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Remove all parametrizations of a tensor.

    Parameters
    ----------
    module : Module
        The module.
    tensor_name : str
        The name of the tensor.
    leave_parametrized : bool
        Whether it keeps the computed value; otherwise it gets the original one.

    Returns
    -------
    Module
        `module`.

    Raises
    ------
    ValueError
        If the tensor has none, or has several originals of which none can be left.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    owner: Any = module
    computation = owner.parametrizations[tensor_name]
    if computation.is_tensor:
        original = computation.original
        if leave_parametrized:
            with tt.no_grad():
                _set(original, getattr(owner, tensor_name))
    elif leave_parametrized:
        value = getattr(owner, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "leave_parametrized=False needs one original tensor, and this parametrization has "
            f"{computation.ntensors} of them"
        )
    # The property is the class's, and would hide the parameter that is registered next.
    delattr(type(module), tensor_name)
    del owner.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del owner.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class of a module, for a parametrized one the class that it had before."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrizations of another one, and the tensors that they are computed from.

    Parameters
    ----------
    from_module, to_module : Module
        The modules.
    tensor_name : str, optional
        The tensor; all parametrized ones without it.

    Returns
    -------
    Module
        `to_module`.
    """
    if not is_parametrized(from_module):
        return to_module
    source: Any = from_module
    target: Any = to_module
    for name in list(source.parametrizations) if tensor_name is None else [tensor_name]:
        if not hasattr(target, name):
            setattr(target, name, Parameter(getattr(source, name)))
        for parametrization in source.parametrizations[name]:
            register_parametrization(to_module, name, parametrization)
        own, taken = source.parametrizations[name], target.parametrizations[name]
        for original in ["original"] if own.is_tensor else [f"original{i}" for i in range(own.ntensors)]:
            setattr(taken, original, getattr(own, original))
    return to_module
