"""Optimizer: parameter groups, state, hooks and state dicts, as every optimizer has them."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from itertools import chain
from typing import Any, Final, TypeAlias

import tt
from tt.library import warn_user
from tt.utils.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

ParamsT: TypeAlias = Iterable[Any] | Iterable[dict[str, Any]] | Iterable[tuple[str, Any]]
Closure: TypeAlias = Callable[[], Any]


class _Required:
    """The default of an option that every parameter group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required: Final = _Required()

_global_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()

# Options that groups of older state dicts may lack, and what those computed with.
_ADDED_LATER: Final[dict[str, Any]] = {
    "amsgrad": False,
    "capturable": False,
    "centered": False,
    "decoupled_weight_decay": False,
    "differentiable": False,
    "foreach": None,
    "fused": None,
    "maximize": False,
    "momentum": 0,
    "nesterov": False,
}

_HOOKS: Final = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


def _added(
    hooks: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any], first: bool = False
) -> RemovableHandle:
    """Add a hook, as the last or as the first."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if first:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call a hook before each step of every optimizer.

    Parameters
    ----------
    hook : callable
        Called as ``hook(optimizer, args, kwargs)``; may return the arguments that `step` gets instead, as a pair.

    Returns
    -------
    RemovableHandle
        Its `remove()` removes the hook.
    """
    return _added(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call a hook after each step of every optimizer, as ``hook(optimizer, args, kwargs)``."""
    return _added(_global_post_hooks, hook)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method `step` that runs the hooks."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        # A wrapper of another optimizer may never call `Optimizer.__init__`: it has no hooks, the wrapped one runs its.
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            result = step(self, *args, **kwargs)
            self._opt_called = True
            return result
        args = (self, *args)  # hooks get the arguments of the function `step`: the optimizer is the first
        for hook in chain(_global_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        f"{step!r} must return None or a tuple of (new_args, new_kwargs), but got {changed}"
                    )
                args, kwargs = changed
        result = step(*args, **kwargs)
        self._opt_called = True  # schedulers warn if they step first
        for hook in chain(self._optimizer_step_post_hooks.values(), _global_post_hooks.values()):
            hook(self, args, kwargs)
        return result

    vars(hooked)["hooked"] = True
    return hooked


class Optimizer:
    """The base of all optimizers.

    Parameters
    ----------
    params : iterable
        Tensors, pairs of a name and a tensor, or dicts, one for each group of parameters with options of its own.
    defaults : dict
        The options of groups that do not give them.

    Raises
    ------
    TypeError
        If `params` is a tensor, a set, or holds something other than tensors.
    ValueError
        If `params` is empty, a parameter is in two groups or is not a leaf, or only some have names.

    Examples
    --------
    >>> import tt
    >>> class SignDescent(tt.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...
    ...     @tt.no_grad()
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p.add_(p.grad.sign(), alpha=-group["lr"])
    >>> p = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> (p * p).sum().backward()
    >>> SignDescent([p], lr=0.5).step()
    >>> p
    tensor([0.5000, 1.5000], requires_grad=True)
    """

    _opt_called: bool
    _optimizer_step_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_step_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        step = cls.__dict__.get("step")
        # A method that is inherited runs the hooks already.
        if callable(step) and not hasattr(step, "hooked"):
            type.__setattr__(cls, "step", _with_hooks(step))

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._set_hooks()
        if tt.is_tensor(params):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{type(params).__module__}.{type(params).__name__}\n  try: [params]"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _set_hooks(self) -> None:
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._set_hooks()
        for group in self.param_groups:
            for name in self.defaults:
                if name in _ADDED_LATER:
                    group.setdefault(name, _ADDED_LATER[name])
        for values in self.state.values():
            # Steps were numbers in state dicts of old versions of PyTorch.
            if isinstance(values, dict) and isinstance(values.get("step"), int | float):
                values["step"] = tt.tensor(float(values["step"]), dtype=tt.float32)

    def __repr__(self) -> str:
        groups = []
        for number, group in enumerate(self.param_groups):
            lines = [f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params"]
            groups.append(f"Parameter Group {number}\n{''.join(lines)}")
        return f"{type(self).__name__} (\n" + "\n".join(groups) + ")"

    # --- hooks ---------------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook before each step, as ``hook(optimizer, args, kwargs)``; it may return other arguments."""
        return _added(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook after each step, as ``hook(optimizer, args, kwargs)``."""
        return _added(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call a hook before `state_dict`, as ``hook(optimizer)``."""
        return _added(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call a hook after `state_dict`, as ``hook(optimizer, state_dict)``; its result replaces the state dict."""
        return _added(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call a hook before `load_state_dict`, as ``hook(optimizer, state_dict)``; its result is loaded."""
        return _added(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call a hook after `load_state_dict`, as ``hook(optimizer)``."""
        return _added(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # --- state dicts ---------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the state and the options of the groups, with numbers instead of parameters.

        Returns
        -------
        dict
            ``state`` by the number of the parameter, and ``param_groups``.  The tensors are the optimizer's own.

        Examples
        --------
        >>> import tt
        >>> p = tt.zeros(1, requires_grad=True)
        >>> tt.optim.SGD([p], lr=0.5).state_dict()["param_groups"][0]["params"]
        [0]
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for param in group["params"]:
                # A parameter that is in a group twice has one number.
                numbers.setdefault(id(param), len(numbers))
            options = {name: value for name, value in group.items() if name != "params"}
            groups.append({**options, "params": [numbers[id(param)] for param in group["params"]]})
        state = {(numbers[id(k)] if tt.is_tensor(k) else k): v for k, v in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` returned; parameters correspond by their order.

        Parameters
        ----------
        state_dict : dict
            Its tensors are converted to dtype and device of their parameters.

        Raises
        ------
        ValueError
            If numbers or sizes of the groups differ; the optimizer stays as it was.
        """
        # Hooks may change it, and the caller's must stay as it is.
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        groups = deepcopy(state_dict["param_groups"])
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for mine, loaded in zip(self.param_groups, groups, strict=True):
            if len(mine["params"]) != len(loaded["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
                )
        params: dict[Any, tuple[Any, dict[str, Any]]] = {}
        for mine, loaded in zip(self.param_groups, groups, strict=True):
            for number, param in zip(loaded["params"], mine["params"], strict=True):
                params[number] = (param, loaded)
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            # Other keys are of the optimizer as a whole.
            if key in params:
                param, group = params[key]
                state[param] = _to_param(value, param, group, None)
            else:
                state[key] = value
        for mine, loaded in zip(self.param_groups, groups, strict=True):
            loaded["params"] = mine["params"]
            if "param_names" in mine and "param_names" not in loaded:
                loaded["param_names"] = mine["param_names"]
        # Subclasses bring states of older versions up to date there.
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # --- what an optimizer does ----------------------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters.

        Parameters
        ----------
        set_to_none : bool
            Drop the gradients instead of filling them with zeros.
        """
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                    continue
                # A gradient that was made with `create_graph` must not be changed within its graph.
                if param.grad.requires_grad:
                    if param.grad.grad_fn is not None:
                        param.grad.detach_()
                    else:
                        param.grad.requires_grad_(False)
                param.grad.zero_()

    def step(self, closure: Closure | None = None) -> Any:
        """Change the parameters by one step.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss again and returns it.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no step(); a subclass of Optimizer must define it"
        )

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, for instance of layers that are trained from now on.

        Parameters
        ----------
        param_group : dict
            ``params``, and the options that differ from the defaults.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = param_group
        params = group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                "sets will change between runs. Please use a list instead."
            )
        params = [params] if tt.is_tensor(params) else list(params)
        names = [item[0] for item in params if isinstance(item, tuple)]
        if names:
            if len(names) != len(params):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are missing"
                )
            params = [item[1] for item in params]
        for param in params:
            if not tt.is_tensor(param):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}"
                )
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor\n  try: tensor.detach().requires_grad_()")
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
        if len({id(param) for param in params}) != len(params):
            warn_user(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error"
            )
        known = {id(param) for other in self.param_groups for param in other["params"]}
        if any(id(param) in known for param in params):
            raise ValueError("some parameters appear in more than one parameter group")
        named = bool(names) or "param_names" in group  # a group of a state dict brings its names itself
        if any(("param_names" in other) != named for other in self.param_groups):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if named else 'without'} names to the optimizer"
            )
        group["params"] = params
        if names:
            group["param_names"] = names
        for name, default in self.defaults.items():
            # A list can be changed, and would be shared by all groups.
            group.setdefault(name, deepcopy(default) if isinstance(default, list) else default)
        self.param_groups.append(group)


def _to_param(value: Any, param: tt.Tensor, group: Mapping[str, Any], key: object) -> Any:
    """Return a value of a loaded state with tensors of dtype and device of the parameter; steps stay as they are."""
    if tt.is_tensor(value):
        if key == "step":
            # Counts stay float32 whatever the dtype of the parameter: bfloat16 cannot count beyond 256.
            if group.get("capturable") or group.get("fused"):
                return value.to(dtype=tt.float32, device=param.device)
            return value
        # As in PyTorch, only floating point states are taken to have the dtype of the parameter.
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {name: _to_param(item, param, group, name) for name, item in value.items()}
    kind = type(value)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return kind(_to_param(item, param, group, None) for item in value)
    return value


# Names by which optimizers of other libraries choose their way.


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method `step` that records gradients only if the optimizer is differentiable."""

    @functools.wraps(func)
    def step(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        with tt.set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            return func(self, *args, **kwargs)

    return step


def _default_to_fused_or_foreach(
    params: Iterable[tt.Tensor | None], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Return whether a step is one call for all tensors, and whether it takes lists of tensors.

    On the CPU neither is; on CUDA, lists are unless the step is differentiable.
    """
    tensors = [p for p in params if p is not None]
    on_cuda = not differentiable and all(
        type(p).__name__ in ("Tensor", "Parameter") and p.is_cuda for p in tensors
    )
    fused = bool(use_fused and on_cuda and all(p.dtype.is_floating_point for p in tensors))
    return fused, on_cuda and not fused and bool(tensors)


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Return the devices on which a step can be captured in a graph."""
    return ["cuda"]
