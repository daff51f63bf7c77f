"""GradScaler: scales losses, so that small gradients do not vanish in float16, and leaves out steps that overflow.

The names of methods and fields that begin with an underscore are PyTorch's, too: other libraries' scalers override
them, and the state of a pickled scaler is that of PyTorch's.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

import tt
from tt.library import warn_user

if TYPE_CHECKING:
    from tt.optim import Optimizer

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """How far an optimizer is between two updates of the scale.

    Examples
    --------
    >>> import tt
    >>> [state.name for state in tt.amp.grad_scaler.OptState]
    ['READY', 'UNSCALED', 'STEPPED']
    """

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _MultiDeviceReplicator:
    """A tensor on several devices; each copy is made when it is first asked for."""

    def __init__(self, master_tensor: tt.Tensor) -> None:
        self.master = master_tensor
        self._per_device_tensors: dict[tt.device, tt.Tensor] = {}

    def get(self, device: tt.device) -> tt.Tensor:
        result = self._per_device_tensors.get(device)
        if result is None:
            result = self.master.to(device=device, non_blocking=True)
            self._per_device_tensors[device] = result
        return result


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses so that gradients in float16 do not vanish, and finds the scale while training.

    `scale` multiplies a loss, and so all its gradients.  `step` divides the gradients by the scale again; if one of
    them is infinite or a NaN, the optimizer takes no step.  `update` then multiplies the scale by `backoff_factor`, and
    by `growth_factor` after `growth_interval` steps in a row of which none was left out.

    Parameters
    ----------
    device : str
        The devices of the training.
    init_scale : float
        The scale at the beginning.
    growth_factor : float
        More than 1.
    backoff_factor : float
        Less than 1.
    growth_interval : int
        Steps without overflow before the scale grows.
    enabled : bool
        Whether anything is done: a disabled scaler passes losses and steps on as they are.  On a machine without
        CUDA, "cuda" is disabled with a warning.

    Raises
    ------
    AssertionError
        For a factor that would not change the scale in its direction.

    Examples
    --------
    >>> import tt
    >>> weight = tt.ones(2, requires_grad=True)
    >>> optimizer = tt.optim.SGD([weight], lr=0.25)
    >>> scaler = tt.amp.GradScaler("cpu", init_scale=1024.0)
    >>> scaler.scale((weight * weight).sum()).backward()
    >>> weight.grad
    tensor([2048., 2048.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weight
    tensor([0.5000, 0.5000], requires_grad=True)

    An infinite gradient leaves the step out, and halves the scale:

    >>> weight.grad = tt.tensor([float("inf"), 0.0])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weight, scaler.get_scale()
    (tensor([0.5000, 0.5000], requires_grad=True), 512.0)
    """

    _unscales_float16: ClassVar[bool] = False

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not tt.cuda.is_available():
            warn_user("tt.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError(
                f"The growth factor must be > 1.0, not {growth_factor}: 2.0 doubles the scale"
            )
        if backoff_factor >= 1.0:
            raise AssertionError(
                f"The backoff factor must be < 1.0, not {backoff_factor}: 0.5 halves the scale"
            )
        self._init_scale = init_scale
        self._init_growth_tracker = 0
        # Both are made with the first loss, whose device is theirs.
        self._scale: tt.Tensor | None = None
        self._growth_tracker: tt.Tensor | None = None
        self._per_optimizer_states: defaultdict[int, dict[str, Any]] = defaultdict(
            _refresh_per_optimizer_state
        )

    # --- scaling -----------------------------------------------------------------------------------------------

    def scale(self, outputs: Any) -> Any:
        """Multiply a loss by the scale.

        Parameters
        ----------
        outputs : Tensor or iterable of Tensors
            One loss or several, also nested; on any devices.

        Returns
        -------
        Tensor or iterable of Tensors
            A list for a list, a tuple for a tuple, an iterator for anything else.

        Raises
        ------
        ValueError
            For what is neither a tensor nor an iterable.

        Examples
        --------
        >>> import tt
        >>> scaler = tt.amp.GradScaler("cpu", init_scale=8.0)
        >>> scaler.scale([tt.ones(1), (tt.zeros(1), tt.ones(2))])
        [tensor([8.]), (tensor([0.]), tensor([8., 8.]))]
        """
        if not self._enabled:
            return outputs
        copies: _MultiDeviceReplicator | None = None

        def scaled(value: Any) -> Any:
            nonlocal copies
            if isinstance(value, tt.Tensor):
                if copies is None:
                    # The first loss decides on which device the scale lives.
                    copies = _MultiDeviceReplicator(self._scale_on(value.device))
                return self._scaled(value, copies.get(value.device))
            if isinstance(value, Iterable):
                results = map(scaled, value)
                return type(value)(results) if isinstance(value, list | tuple) else results
            raise ValueError(
                f"outputs must be a Tensor or an iterable of Tensors, and one of them is {type(value).__name__}: "
                "scale the losses alone"
            )

        return scaled(outputs)

    def _scaled(self, value: tt.Tensor, scale: tt.Tensor) -> tt.Tensor:
        return value * scale

    def _scale_on(self, device: tt.device) -> tt.Tensor:
        """Return the scale, which is made on a device if there is none yet."""
        if self._scale is None:
            self._lazy_init_scale_growth_tracker(device)
        scale, _ = self._check_scale_growth_tracker("scale")
        return scale

    def _lazy_init_scale_growth_tracker(self, dev: tt.device) -> None:
        self._scale = tt.full((), self._init_scale, dtype=tt.float32, device=dev)
        self._growth_tracker = tt.full((), self._init_growth_tracker, dtype=tt.int32, device=dev)

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[tt.Tensor, tt.Tensor]:
        if self._scale is None or self._growth_tracker is None:
            name = "_scale" if self._scale is None else "_growth_tracker"
            raise AssertionError(
                f"Attempted {funcname} but {name} is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale, self._growth_tracker

    # --- steps -------------------------------------------------------------------------------------------------

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, in place, and note whether all are finite.

        `step` does so itself; call it before, to clip or to inspect gradients, once for each step and after all
        gradients have been accumulated.  Nobody waits for the device.

        Parameters
        ----------
        optimizer : Optimizer
            Owns the parameters.  A sparse gradient in float16 is replaced by the coalesced one.

        Raises
        ------
        RuntimeError
            If the gradients are unscaled already, or the step has been taken.
        ValueError
            For a gradient in float16.
        AssertionError
            If nothing has been scaled.

        Examples
        --------
        >>> import tt
        >>> weight = tt.ones(2, requires_grad=True)
        >>> optimizer, scaler = tt.optim.SGD([weight], lr=1.0), tt.amp.GradScaler("cpu")
        >>> scaler.scale((3 * weight).sum()).backward()
        >>> scaler.unscale_(optimizer)
        >>> tt.nn.utils.clip_grad_norm_([weight], 1.0), weight.grad
        (tensor(4.2426), tensor([0.7071, 0.7071]))
        """
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update(): call it once in each "
                "iteration, after the gradients have been accumulated"
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError(
                "unscale_() is being called after step(): call it before, or update() first, which begins the next "
                "iteration"
            )
        # A quotient of 1 rounds in float32 as it does in float64 and then in float32, which PyTorch computes.
        found_inf = tt.full((), 0.0, dtype=tt.float32, device=scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(
            optimizer, scale.reciprocal(), found_inf, self._unscales_float16
        )
        state["stage"] = OptState.UNSCALED

    def _unscale_grads_(
        self, optimizer: Optimizer, inv_scale: tt.Tensor, found_inf: tt.Tensor, allow_fp16: bool
    ) -> dict[tt.device, tt.Tensor]:
        """Multiply gradients by a factor; return for each of their devices whether one was not finite."""
        inverses, flags = _MultiDeviceReplicator(inv_scale), _MultiDeviceReplicator(found_inf)
        # One kernel for all gradients of a device and dtype.
        groups: defaultdict[tuple[tt.device, tt.dtype], list[tt.Tensor]] = defaultdict(list)
        with tt.no_grad():
            for group in optimizer.param_groups:
                for param in group["params"]:
                    grad = self._dense_gradient(param, allow_fp16)
                    if grad is not None:
                        groups[grad.device, grad.dtype].append(grad)
            for (device, _), grads in groups.items():
                tt.ops._amp_foreach_non_finite_check_and_unscale_(
                    grads, flags.get(device), inverses.get(device)
                )
        return flags._per_device_tensors

    @staticmethod
    def _dense_gradient(param: Any, allow_fp16: bool) -> tt.Tensor | None:
        """Return the gradient of a parameter, or the values of a sparse one."""
        if not isinstance(param, tt.Tensor):
            raise AssertionError(f"expected param to be tt.Tensor, got {type(param).__name__}")
        grad: tt.Tensor | None = param.grad
        if grad is None:
            return None
        if grad.dtype is tt.float16 and not allow_fp16:
            raise ValueError(
                "Attempting to unscale FP16 gradients.  Keep the parameters in float32: autocast computes in float16 "
                "with copies of them"
            )
        if grad.is_complex():
            raise NotImplementedError(
                f"gradients in {grad.dtype} cannot be unscaled: make tt.view_as_real(parameter) the parameter"
            )
        if not grad.is_sparse:
            return grad
        if grad.dtype is tt.float16:
            # Elements of one index may be finite, and their sum not.
            param.grad = grad = grad.coalesce()
        return grad._values()

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients of an optimizer's parameters, and take its step if all are finite.

        Parameters
        ----------
        optimizer : Optimizer
            Takes the step.  A fused one gets the scale and what was found as its attributes `grad_scale` and
            `found_inf`, so that nobody waits for the device.
        *args, **kwargs
            Of `optimizer.step`.

        Returns
        -------
        Any
            What the step returns; None if it was left out.

        Raises
        ------
        RuntimeError
            For a closure, and for a second step before `update`.
        AssertionError
            If nothing has been scaled, or no parameter has a gradient.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or any(callable(value) for value in args):
            raise RuntimeError(
                "Closure use is not currently supported if GradScaler is enabled: it would compute gradients that "
                "nobody unscales.  Compute the loss before, and call step(optimizer)"
            )
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError(
                "step() has already been called since the last update(): call update() at the end of each iteration"
            )
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._fused_step(optimizer, state, args, kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not state["found_inf_per_device"]:
                raise AssertionError(
                    "No inf checks were recorded for this optimizer: none of its parameters has a gradient; call "
                    "backward() first, or leave the step out"
                )
            result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _fused_step(
        self, optimizer: Any, state: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Let an optimizer unscale the gradients itself, and leave the step out."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warn_user(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer: let the "
                "optimizer read its attributes grad_scale and found_inf",
                FutureWarning,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        scale = self._get_scale_async()
        assert scale is not None, "step() has checked that there is a scale"
        # An optimizer may have a scale of its own, which is combined with this one, as in PyTorch.
        own = getattr(optimizer, "grad_scale", None)
        if state["stage"] is not OptState.UNSCALED:
            own = scale if own is None else scale * own
        optimizer.grad_scale = own
        optimizer.found_inf = _combined([*state["found_inf_per_device"].values()], scale.device)
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def _maybe_opt_step(
        self, optimizer: Optimizer, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        # Waits for the device: whether the step is taken is decided on the host.
        if any(found_inf.item() for found_inf in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def _check_inf_per_device(self, optimizer: Optimizer) -> dict[tt.device, tt.Tensor]:
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one = tt.full((), 1.0, dtype=tt.float32, device=scale.device)
        found_inf = tt.full((), 0.0, dtype=tt.float32, device=scale.device)
        result = self._unscale_grads_(optimizer, one, found_inf, True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = result
        return result

    def _found_inf_per_device(self, optimizer: Optimizer) -> dict[tt.device, tt.Tensor]:
        result: dict[tt.device, tt.Tensor] = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
        return result

    # --- the scale ---------------------------------------------------------------------------------------------

    def update(self, new_scale: float | tt.Tensor | None = None) -> None:
        """Shrink the scale if a step was left out, else let it grow after enough steps; this ends an iteration.

        Parameters
        ----------
        new_scale : float or Tensor, optional
            Sets the scale instead: a number, or a tensor with one element on the scaler's device, which is copied.

        Raises
        ------
        AssertionError
            If nothing has been scaled, no optimizer has been unscaled, or the new scale does not fit.
        """
        if not self._enabled:
            return
        scale, growth_tracker = self._check_scale_growth_tracker("update")
        if isinstance(new_scale, tt.Tensor):
            if new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad:
                raise AssertionError(
                    f"new_scale should be a float, or a tensor with one element on {self._device!r} that requires no "
                    f"gradient; it has the shape {list(new_scale.shape)} and is on {str(new_scale.device)!r}: "
                    "new_scale.item() is a float"
                )
            scale.copy_(new_scale.reshape(()))
        elif new_scale is not None:
            scale.fill_(new_scale)
        else:
            overflows = [
                found_inf
                for state in self._per_optimizer_states.values()
                for found_inf in state["found_inf_per_device"].values()
            ]
            if not overflows:
                raise AssertionError(
                    "No inf checks were recorded prior to update.  Call step(optimizer) or unscale_(optimizer) first, "
                    "with an optimizer whose parameters have gradients"
                )
            tt.ops._amp_update_scale_(
                scale, growth_tracker, _combined(overflows, scale.device), self._growth_factor, self._backoff_factor,
                self._growth_interval,
            )  # fmt: skip
        # Every optimizer begins anew with the next iteration.
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _get_scale_async(self) -> tt.Tensor | None:
        return self._scale

    def get_scale(self) -> float:
        """Return the scale, 1 of a disabled scaler; this waits for the device."""
        if not self._enabled:
            return 1.0
        scale = self._get_scale_async()
        return self._init_scale if scale is None else float(scale.item())

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale shrinks after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return after how many steps without overflow the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps without overflow the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Return whether anything is done."""
        return self._enabled

    # --- states ------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the state as a dict of numbers, which PyTorch's scaler reads, too; empty of a disabled scaler.

        Returns
        -------
        dict
            "scale", "growth_factor", "backoff_factor", "growth_interval", and in "_growth_tracker" the number of steps
            since the last one that was left out.  Call it after `update`.

        Examples
        --------
        >>> import tt
        >>> tt.amp.GradScaler("cpu", init_scale=8.0).state_dict()
        {'scale': 8.0, 'growth_factor': 2.0, 'backoff_factor': 0.5, 'growth_interval': 2000, '_growth_tracker': 0}
        """
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state that `state_dict` has returned, of this or of PyTorch's scaler.

        Raises
        ------
        RuntimeError
            For an empty state, if this scaler is enabled.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler: "
                "disable this one too, or begin without a state"
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            # As numbers: the tensors are made again on the device of the next loss.
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = None
            state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


def _combined(found: list[tt.Tensor], device: tt.device) -> tt.Tensor:
    """Return on one device whether any device has found a gradient that is not finite: 1, or 0."""
    if not found:
        return tt.full((), 0.0, dtype=tt.float32, device=device)
    result, *others = (found_inf.to(device=device, non_blocking=True) for found_inf in found)
    for other in others:
        # The largest and not the sum, as fused steps are left out where it is 1.
        result = tt.maximum(result, other)
    return result
