"""State dicts: a module's parameters and buffers by name, to be saved and loaded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import tt
from tt.library import warn_user
from tt.nn.modules.conversion import swaps_tensors
from tt.nn.parameter import Parameter, is_lazy

if TYPE_CHECKING:
    from tt.nn.modules.module import Module

__all__ = ["StatePreHook", "collect_state", "load_own", "load_tree", "save_own"]

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """The keys that `load_state_dict` found missing, and those that it did not expect."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class StatePreHook:
    """A hook with or without the module as its first argument."""

    def __init__(self, hook: Callable[..., Any], with_module: bool) -> None:
        self.hook, self.with_module = hook, with_module

    def __call__(self, module: Module, *args: Any) -> Any:
        """Call the hook."""
        return self.hook(module, *args) if self.with_module else self.hook(*args)


def save_own(module: Module, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
    """Add this module's own parameters and persistent buffers."""
    for name, param in module._parameters.items():
        if param is not None:
            destination[prefix + name] = param if keep_vars else param.detach()
    for name, buffer in module._buffers.items():
        if buffer is not None and name not in module._non_persistent_buffers_set:
            destination[prefix + name] = buffer if keep_vars else buffer.detach()
    if module._overrides("get_extra_state"):
        destination[f"{prefix}{_EXTRA_STATE_KEY_SUFFIX}"] = module.get_extra_state()


def collect_state(
    module: Module, args: tuple[Any, ...], destination: Any, prefix: str, keep_vars: bool
) -> Any:
    """Add the entries of a module and those below it, with its hooks; return the mapping that has them."""
    if args:
        warn_user("state_dict() takes destination, prefix and keep_vars as keywords", FutureWarning)
        positional = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
        destination = positional.get("destination", destination)
        prefix, keep_vars = positional.get("prefix", prefix), positional.get("keep_vars", keep_vars)
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    metadata = {"version": module._version}
    # A destination of the program may be a plain dict, which has no place for versions.
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = metadata
    hooked = module._may_have_hooks
    if hooked:
        for hook in module._state_dict_pre_hooks.values():
            hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    if hooked:
        for hook in module._state_dict_hooks.values():
            result = hook(module, destination, prefix, metadata)
            # Hooks of the private method may replace the dict, which older programs rely on.
            if getattr(hook, "_from_public_api", False):
                if result is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif result is not None:
                destination = result
    return destination


def load_own(
    module: Module,
    state_dict: Mapping[str, Any],
    prefix: str,
    local_metadata: dict[str, Any],
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    """Load this module's own entries; what does not fit is added to the three lists."""
    if module._may_have_hooks:
        for hook in module._load_state_dict_pre_hooks.values():
            hook(
                module,
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
    assign = local_metadata.get("assign_to_params_buffers", False)
    own: dict[str, Any] = {n: p for n, p in module._parameters.items() if p is not None}
    for name, buffer in module._buffers.items():
        if buffer is not None and name not in module._non_persistent_buffers_set:
            own[name] = buffer
    for name, param in own.items():
        key = prefix + name
        if key in state_dict:
            problem = _load_one(module, name, key, param, state_dict[key], assign)
            if problem:
                error_msgs.append(problem)
        elif strict:
            missing_keys.append(key)
    extra_key = f"{prefix}{_EXTRA_STATE_KEY_SUFFIX}"
    if module._overrides("set_extra_state"):
        if extra_key in state_dict:
            module.set_extra_state(state_dict[extra_key])
        elif strict:
            missing_keys.append(extra_key)
    elif strict and extra_key in state_dict:
        unexpected_keys.append(extra_key)
    if strict:
        # Names below a submodule are its own affair: only the first part is compared here.
        for key in state_dict:
            if key.startswith(prefix) and key != extra_key:
                name, *below = key[len(prefix) :].split(".", 1)
                if name not in module._modules if below else name not in own:
                    unexpected_keys.append(key)


def _load_one(module: Module, name: str, key: str, param: Any, loaded: object, assign: bool) -> str:
    """Load one parameter or buffer; return why it does not fit, if it does not."""
    if not isinstance(loaded, tt.Tensor):
        return (
            f'While copying the parameter named "{key}", expected tt.Tensor or Tensor-like object from '
            f"checkpoint but received {type(loaded)}"
        )
    if is_lazy(param) and is_lazy(loaded):
        return ""  # still without a shape
    if not is_lazy(param):
        if param.dim() == 0 and loaded.dim() == 1 and len(loaded) > 0:
            loaded = loaded[0]  # numbers were vectors of one element once
        if is_lazy(loaded):
            return f"{key} of the checkpoint is uninitialized, and that of the model has shape {param.shape}."
        if loaded.shape != param.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {loaded.shape} from checkpoint, "
                f"the shape in current model is {param.shape}."
            )
    if param.is_meta and not loaded.is_meta and not assign:
        warn_user(
            f"{key}: copying values to a parameter on the meta device changes nothing\n"
            "  try: load_state_dict(..., assign=True), or to_empty() first",
        )
    try:
        with tt.no_grad():
            if swaps_tensors():
                _load_by_swap(module, param, loaded, assign)
            elif assign and hasattr(
                type(param), "of_rows"
            ):  # divided among ranks, whose groups know the object
                from tt.utils import swap_tensors

                swap_tensors(param, param.of_rows(loaded.detach()))
            elif assign:
                if isinstance(param, Parameter):
                    loaded = (
                        loaded.requires_grad_(param.requires_grad)
                        if isinstance(loaded, Parameter)
                        else Parameter(loaded, requires_grad=param.requires_grad)
                    )
                setattr(module, name, loaded)
            else:
                param.copy_(loaded)
    # Collected rather than raised, because one message lists everything that does not fit.
    except Exception as error:
        doing = "swapping" if swaps_tensors() else "copying"
        return (
            f'While {doing} the parameter named "{key}", whose dimensions in the model are {param.size()} and '
            f"whose dimensions in the checkpoint are {loaded.size()}, an exception occurred : {error.args}."
        )
    return ""


def _load_by_swap(module: Module, param: Any, given: Any, assign: bool) -> None:
    from tt.utils import swap_tensors

    if any(type(tensor) not in (tt.Tensor, Parameter) for tensor in (param, given)):
        new = param.module_load(given, assign=assign)
        if new is param or new is given:
            raise tt.errors.ValueRangeError(
                "module_load returned one of its arguments\n  try: detach() of it, another object"
            )
    else:  # a copy, not a change of the parameter: what does not fit leaves the module as it was
        new = given.detach() if assign else given.to(param.device, param.dtype).clone()
    if hasattr(type(param), "of_rows"):
        new = param.of_rows(new)
    elif isinstance(param, Parameter):
        new = Parameter(new, requires_grad=param.requires_grad)
    swap_tensors(param, new)


def load_tree(module: Module, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> _IncompatibleKeys:
    """Load a module and those below it, or leave all as they were; the arguments are `load_state_dict`'s."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    incompatible = _IncompatibleKeys([], [])
    errors: list[str] = []
    metadata = getattr(state_dict, "_metadata", None)
    # A copy: hooks may rename and remove entries, and the caller's mapping stays.
    working: Any = OrderedDict(state_dict)
    if metadata is not None:
        working._metadata = metadata
    # Copies of all values cost time and memory, so they are made only where loading might fail half-way.
    undo = None if _fits(module, state_dict) else _Snapshot(module)
    ties = _Ties(module) if assign else None

    # It gets itself: a function that finds itself in its closure is a cycle, which keeps the state dict.
    def load(again: Callable[..., None], module: Module, local: dict[str, Any], prefix: str = "") -> None:
        local_metadata = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
        if assign:
            local_metadata["assign_to_params_buffers"] = assign
        module._load_from_state_dict(
            local,
            prefix,
            local_metadata,
            # Always strict here, so that the lists are complete; the caller's `strict` decides below.
            True,
            incompatible.missing_keys,
            incompatible.unexpected_keys,
            errors,
        )
        for name, child in module._modules.items():
            if child is not None:
                path = f"{prefix}{name}."
                # A submodule gets its own entries only: each level that compared all of them would cost a
                # square.
                again(again, child, {k: v for k, v in local.items() if k.startswith(path)}, path)
        if module._may_have_hooks:
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, incompatible) is not None:
                    raise AssertionError(
                        "Hooks set with ``register_load_state_dict_post_hook`` are not expected to return new "
                        "values, change the incompatible keys in place"
                    )

    try:
        load(load, module, working)
        if ties is not None:
            ties.restore()
        if strict:
            if incompatible.unexpected_keys:
                names = ", ".join(f'"{key}"' for key in incompatible.unexpected_keys)
                errors.insert(0, f"Unexpected key(s) in state_dict: {names}. ")
            if incompatible.missing_keys:
                names = ", ".join(f'"{key}"' for key in incompatible.missing_keys)
                errors.insert(0, f"Missing key(s) in state_dict: {names}. ")
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {module._get_name()}:\n\t{listed}")
    # An interrupt by the user, too, leaves the module whole.
    except BaseException:
        if undo is not None:
            undo.restore()
        raise
    return incompatible


def _fits(module: Module, state_dict: Mapping[str, Any]) -> bool:
    """Return whether names and shapes are those of this module, so that loading cannot fail half-way."""
    own = _loadable(module, "")
    if own.keys() != state_dict.keys():
        return False
    for name, value in own.items():
        loaded = state_dict[name]
        if value is not None and (
            not isinstance(loaded, tt.Tensor)
            or is_lazy(value)
            or is_lazy(loaded)
            or value.shape != loaded.shape
        ):
            return False
    return True


def _loadable(module: Module, prefix: str) -> dict[str, tt.Tensor | None]:
    """Return parameters and buffers by name, and None for extra states, without hooks and what is overridden."""
    loadable: dict[str, tt.Tensor | None] = {
        f"{prefix}{n}": p for n, p in module._parameters.items() if p is not None
    }
    for name, buffer in module._buffers.items():
        if buffer is not None and name not in module._non_persistent_buffers_set:
            loadable[f"{prefix}{name}"] = buffer
    if module._overrides("get_extra_state"):
        loadable[f"{prefix}{_EXTRA_STATE_KEY_SUFFIX}"] = None
    for name, child in module._modules.items():
        if child is not None:
            loadable.update(_loadable(child, f"{prefix}{name}."))
    return loadable


class _Snapshot:
    """Parameters and buffers of a tree of modules with copies of their values, to go back to them."""

    def __init__(self, module: Module) -> None:
        self.saved: list[Any] = []
        for part in module.modules():
            for table in (part._parameters, part._buffers):
                values = {
                    n: None if t is None or is_lazy(t) else t.detach().clone() for n, t in table.items()
                }
                self.saved.append((table, dict(table), values))

    def restore(self) -> None:
        """Put the tensors back, with their values."""
        with tt.no_grad():
            # First the objects, as `assign` may have exchanged them, then their values.
            for table, members, values in self.saved:
                table.clear()
                table.update(members)
                for name, value in values.items():
                    if value is not None:
                        members[name].copy_(value)


class _Ties:
    """Parameters and buffers that a tree of modules has under more than one name."""

    def __init__(self, module: Module) -> None:
        names: dict[int, list[tuple[dict[str, Any], str]]] = {}
        self._before: list[tuple[tt.Tensor, list[tuple[dict[str, Any], str]]]] = []
        for part in module.modules():
            for table in (part._parameters, part._buffers):
                for name, tensor in table.items():
                    if tensor is None:
                        continue
                    of_tensor = names.setdefault(id(tensor), [])
                    of_tensor.append((table, name))
                    # Noted once, when the second name is found; the list grows with further ones.
                    if len(of_tensor) == 2:
                        self._before.append((tensor, of_tensor))

    def restore(self) -> None:
        """Give all names of a tensor the one that was assigned to the last, unless others got other values."""
        for before, names in self._before:
            assigned = [table[name] for table, name in names if table.get(name, before) is not before]
            if not assigned or any(not isinstance(tensor, tt.Tensor) for tensor in assigned):
                continue
            *others, last = assigned
            if all(_same_values(other, last) for other in others):
                for table, name in names:
                    table[name] = last


def _same_values(a: tt.Tensor, b: tt.Tensor) -> bool:
    """Return whether two tensors are one, lie in the same memory, or hold the same numbers."""
    if a is b:
        return True
    if type(a) is not type(b) or a.shape != b.shape or a.dtype != b.dtype or a.device != b.device:
        return False
    if a.layout is not tt.strided or b.layout is not tt.strided:
        return False
    if a.is_meta or (a.data_ptr() == b.data_ptr() and a.stride() == b.stride()):
        return True
    return bool(tt.equal(a, b))
