"""The driver of optimizers that compute element by element: it collects, chooses a form, and takes the step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import tt
from tt.optim._steps import arithmetic
from tt.optim._steps.arithmetic import Arithmetic, Operand
from tt.optim._steps.options import Options, State, expect_rate, in_numbers, is_set, to_number
from tt.optim.optimizer import Closure, Optimizer, ParamsT

NATIVE_DTYPES: Final = (tt.float32, tt.float64)  # what fused steps compute without rounding in between
CAPTURABLE_DEVICES: Final = ("cuda", "xpu", "hpu", "privateuseone", "xla")


def _same(value: Any) -> Any:
    return value


class Elementwise(Optimizer):
    """The base of optimizers whose step of an element depends on this element alone.

    A subclass gives the state of a parameter, the scalars of a step, and the formula.  Everything else is here:
    the forms (for-loop, foreach, fused, differentiable, capturable), `maximize`, weight decay, complex parameters.
    """

    _numbers: ClassVar[tuple[str, ...]] = ()  # states that are numbers, the step excepted
    _has_step: ClassVar[bool] = True
    _rule: ClassVar[str] = ""  # of the operator `_fused_step_`, which the default form uses
    _arrays: ClassVar[tuple[str, ...]] = ()  # the states of that rule
    _has_fused: ClassVar[bool] = False  # an operator of PyTorch's: `fused=True` is an option

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        expect_rate(defaults["lr"])
        super().__init__(params, defaults)
        if defaults.get("fused") and not defaults.get(
            "capturable"
        ):  # whose numbers stay on the device otherwise
            self._step_supports_amp_scaling = True
        if defaults.get("fused") and defaults["differentiable"]:
            raise RuntimeError("`fused` does not support `differentiable`")
        if defaults.get("fused") and defaults["foreach"]:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    # --- given by subclasses -----------------------------------------------------------------------------------

    def _new_state(self, group: Options, param: tt.Tensor) -> State:
        """Return the state of a parameter before its first step, without the step."""
        raise NotImplementedError

    def _scalars(self, options: Options, step: Any, states: list[State], read: Callable[[Any], Any]) -> Any:
        """Return the formula's inputs besides options; `states` agree in their numbers, which `read` reads."""
        return None

    def _next_numbers(self, options: Options, step: float | tt.Tensor, state: State) -> dict[str, Any]:
        """Return the numbers of the state after a step."""
        return {}

    def _formula(
        self, m: Arithmetic, param: Operand, grad: Operand, state: State, options: Options, scalars: Any
    ) -> None:
        """Change parameter and state."""
        raise NotImplementedError

    def _fused(
        self, params: list[Any], grads: list[Any], states: list[State], options: Options, group: Options
    ) -> bool:
        """Take the step by one operator, if there is one."""
        if not self._rule:
            return False
        # Bias corrections depend on the step, so one call serves only parameters of one step.
        for positions in self._agreeing(params, states):
            mine = [states[i] for i in positions]
            scalars = self._scalars_of(options, mine)
            decay, decoupled = options.get("weight_decay", 0), options.get("decoupled_weight_decay")
            first, second, third = (
                [state[name] for state in mine] if name in mine[0] else []
                for name in (*self._arrays, "", "")[:3]
            )
            try:
                tt.ops._fused_step_(
                    [params[i] for i in positions],
                    [grads[i] for i in positions],
                    first,
                    second,
                    third,
                    self._rule,
                    [
                        0.0 if decoupled else decay,
                        # The rule takes decay that is added to the gradient, or a factor of the
                        # parameter.
                        1 - options["lr"] * decay if decoupled else 1.0,
                        *self._rule_numbers(options, scalars),
                    ],
                    maximize=options["maximize"],
                )
            except tt.errors.InplaceError:  # they share memory; nothing has been written
                self._one_by_one(options, *picked(positions, params, grads, states))
            else:
                self._advance(options, mine)
        return True

    def _rule_numbers(self, options: Options, scalars: Any) -> tuple[float, ...]:
        """Return the numbers of the rule, as `_fused_step_` takes them."""
        raise NotImplementedError

    def _sparse_step(self, param: tt.Tensor, grad: tt.Tensor, state: State, options: Options) -> None:
        """Take the step of a parameter with a sparse gradient."""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    # --- the step ------------------------------------------------------------------------------------------------

    def step(self, closure: Closure | None = None) -> Any:
        """Change the parameters by one step.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss again and returns it.

        Returns
        -------
        Any
            The result of the closure.
        """
        loss = None
        if closure is not None:
            with tt.enable_grad():
                loss = closure()
        with tt.set_grad_enabled(bool(self.defaults.get("differentiable"))):
            for group in self.param_groups:
                self._step_group(group)
        return loss

    @classmethod
    def _functional(
        cls,
        params: list[Any],
        grads: list[Any],
        lists: Mapping[str, list[Any]],
        options: Options,
        *,
        grad_scale: tt.Tensor | None = None,
        found_inf: tt.Tensor | None = None,
    ) -> None:
        """Take a step on tensors whose states are in lists, which are changed in place: an optimizer as a function."""
        self = cls.__new__(cls)
        if grad_scale is not None or found_inf is not None:
            vars(self).update(grad_scale=grad_scale, found_inf=found_inf)
        rows = zip(*lists.values(), strict=True) if lists else [()] * len(params)
        states: list[State] = [dict(zip(lists, row, strict=True)) for row in rows]
        # The states as they are, to find out below which ones were replaced and must be written to the
        # caller's tensors.
        before = [dict(state) for state in states]
        dense = [i for i, grad in enumerate(grads) if not grad.is_sparse]
        sparse = [(params[i], grads[i], states[i]) for i in range(len(params)) if grads[i].is_sparse]
        if sparse and self._is_dense_only():
            raise RuntimeError(self._dense_only_message())
        with tt.set_grad_enabled(bool(options.get("differentiable"))):
            self._step_collected(
                options, *self._prepared(options, *picked(dense, params, grads, states)), sparse
            )
            for i, (state, old) in enumerate(zip(states, before, strict=True)):
                for name, value in state.items():
                    if old[name] is None:
                        lists[name][i] = value
                    elif value is not old[name]:  # numbers are replaced
                        old[name].copy_(value)

    def _prepared(
        self, options: Options, params: list[Any], grads: list[Any], states: list[State]
    ) -> tuple[list[Any], list[Any], list[State]]:
        """Return the inputs of a step, with the states that begin with it."""
        return params, grads, states

    def _step_group(self, group: Options) -> None:
        self._step_collected(group, *self._collect(group))

    def _step_collected(
        self,
        group: Options,
        params: list[Any],
        grads: list[Any],
        states: list[State],
        sparse: list[tuple[Any, Any, State]],
    ) -> None:
        if sparse:
            if self._is_scaled():
                raise RuntimeError(
                    "fused=True takes no scaled sparse gradients: make the optimizer with fused=False, whose gradients "
                    "the GradScaler unscales"
                )
            options = in_numbers(group)
            for param, grad, state in sparse:
                if self._has_step:
                    state["step"].add_(1)
                self._sparse_step(param.detach(), grad, state, options)
        if not params:
            return
        # Neither may read numbers: one because of autograd, the other because a graph captures the step.
        if group.get("differentiable") or group.get("capturable"):
            self._with_tensor_scalars(group, params, grads, states)
            return
        options = in_numbers(group)
        if self._has_step:
            # Before the formula: bias corrections count the steps from 1.
            tt.ops._foreach_add_([state["step"] for state in states], 1)
        fused, lists = self._form(group, params[0])
        if fused:
            params, grads, states = self._fused_by_dtype(group, options, params, grads, states)
        if params and self._is_scaled():
            raise AssertionError(
                "only fused steps unscale gradients: fused=True for all groups, or for none when the optimizer is made"
            )
        if lists:
            others = [i for i, param in enumerate(params) if param.layout is not tt.strided]
            if others:  # operators of lists are for strided tensors
                self._one_by_one(options, *picked(others, params, grads, states))
                left = [i for i in range(len(params)) if i not in {*others}]
                params, grads, states = picked(left, params, grads, states)
        if not params:
            return
        if lists:
            self._with_lists(options, params, grads, states)
        else:
            self._one_by_one(options, params, grads, states)

    def _collect(
        self, group: Options
    ) -> tuple[list[Any], list[Any], list[State], list[tuple[Any, Any, State]]]:
        """Return parameters that have gradients, with these and their states; apart, those with sparse ones."""
        params, stateful = group["params"], self._has_state(group)
        grads = [param.grad for param in params]
        sparse: list[tuple[Any, Any]] = []
        if any([grad is None or grad.is_sparse for grad in grads]):  # noqa: C419  # a generator takes twice the time
            pairs = [pair for pair in zip(params, grads, strict=True) if pair[1] is not None]
            sparse = [pair for pair in pairs if pair[1].is_sparse]
            if sparse and self._is_dense_only():
                raise RuntimeError(self._dense_only_message())
            dense = [pair for pair in pairs if not pair[1].is_sparse]
            params, grads = [pair[0] for pair in dense], [pair[1] for pair in dense]
        if not stateful:
            return params, grads, [{}] * len(params), [(param, grad, {}) for param, grad in sparse]
        return (
            params,
            grads,
            self._states_of(group, params),
            [(param, grad, self._states_of(group, [param])[0]) for param, grad in sparse],
        )

    def _states_of(self, group: Options, params: Sequence[Any]) -> list[State]:
        """Return the states of parameters, after filling new ones."""
        state_of = self.state
        states = [state_of[param] for param in params]
        if not all(states):
            for param, state in zip(params, states, strict=True):
                if not state:
                    self._begin(group, param, state)
        return states

    def _has_state(self, group: Options) -> bool:
        """Return whether parameters of a group have a state."""
        return True

    def _is_dense_only(self) -> bool:
        return type(self)._sparse_step is Elementwise._sparse_step

    def _dense_only_message(self) -> str:
        return f"{type(self).__name__} does not support sparse gradients"

    def _begin(self, group: Options, param: tt.Tensor, state: State) -> None:
        """Fill the state of a parameter before its first step."""
        with tt.no_grad():
            if self._has_step:
                state["step"] = self._number(group, param, 0.0)
            state.update(self._new_state(group, param))

    @staticmethod
    def _number(group: Options, param: tt.Tensor, value: float) -> Any:
        """Return a number of the state: on the CPU, unless steps are taken without reading it."""
        dtype = tt.float64 if tt.get_default_dtype() == tt.float64 else tt.float32
        there = group.get("capturable") or group.get("fused")
        # On the CPU, for reading a number from a device waits for all its work.
        return tt.tensor(value, dtype=tt.float32 if there else dtype, device=param.device if there else "cpu")

    def _form(self, group: Options, param: tt.Tensor) -> tuple[bool, bool]:
        """Return whether the step is fused, and whether the rest is computed on lists."""
        fused, lists = group.get("fused"), group.get("foreach")
        kind = param.device.type
        if fused is None and lists is None:
            return kind in ("cpu", "cuda"), kind == "cuda"  # one call, or one launch, for all parameters
        return bool(fused), bool(lists)

    def _fused_by_dtype(
        self, group: Options, options: Options, params: list[Any], grads: list[Any], states: list[State]
    ) -> tuple[list[Any], list[Any], list[State]]:
        """Take fused steps, one for each dtype and device; return the rest."""
        required = group.get("fused")
        kinds = {(param.dtype, param.device, param.layout) for param in params}
        if len(kinds) == 1 and params[0].dtype in NATIVE_DTYPES and params[0].layout is tt.strided:
            taken = self._try_fused(params, grads, states, options, group)
            return ([], [], []) if taken else (params, grads, states)
        buckets: defaultdict[Any, list[int]] = defaultdict(list)
        for i, param in enumerate(params):
            dtype = param.dtype
            strided = param.layout is tt.strided
            fits = dtype in NATIVE_DTYPES and grads[i].dtype is dtype and strided
            if required and not param.is_floating_point():
                raise RuntimeError("`fused=True` requires all the params to be floating point Tensors")
            if required and not strided:
                raise RuntimeError(
                    f"`fused=True` requires all the params to be strided, and one has the layout {param.layout}"
                )
            buckets[(dtype, param.device) if fits or required else None].append(i)
        left = buckets.pop(None, [])
        for positions in buckets.values():
            if not self._try_fused(*picked(positions, params, grads, states), options, group):
                # In the order of the parameters, for those that share memory depend on it.
                left = sorted([*left, *positions])
        return picked(left, params, grads, states)

    def _try_fused(
        self, params: list[Any], grads: list[Any], states: list[State], options: Options, group: Options
    ) -> bool:
        """Take a fused step, unless parameters share memory: then one has to come after the other."""
        try:
            return self._fused(params, grads, states, options, group)
        except tt.errors.InplaceError:  # raised before anything is written
            if self._is_scaled():
                raise
            return False

    def _is_scaled(self) -> bool:
        """Return whether a GradScaler leaves it to the step to unscale gradients."""
        return getattr(self, "grad_scale", None) is not None or getattr(self, "found_inf", None) is not None

    def _scaling(self, device: tt.device) -> tuple[tt.Tensor | None, tt.Tensor | None]:
        """Return on a device what a GradScaler has said: the scale, and 1 where the step is left out."""
        scale, found_inf = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
        return (
            None if scale is None else scale.to(device, non_blocking=True),
            None if found_inf is None else found_inf.to(device, non_blocking=True),
        )

    @staticmethod
    def _uncount(states: list[State], found_inf: tt.Tensor | None) -> None:
        """Take the number of a step back from states if the step was left out."""
        # The count was raised before the step; whether that is left out is a number on the device.
        if found_inf is not None:
            for state in states:
                count = state["step"]
                count.sub_(found_inf.to(count.device).reshape(count.shape))

    def _steps_at(self, params: list[Any], states: list[State]) -> list[Any]:
        """Return the numbers of steps on the device of the parameters, where fused operators read them."""
        steps, device = [state["step"] for state in states], params[0].device
        if device.type == "cpu" or all([step.device == device for step in steps]):  # noqa: C419  # as above
            return steps
        numbers = [to_number(step) for step in steps]
        # Parameters that began together share a tensor, which saves a transfer for each.
        there = {number: tt.full((), number, dtype=tt.float32, device=device) for number in set(numbers)}
        return [there[number] for number in numbers]

    def _agreeing(
        self, params: list[Any], states: list[State], apart: bool = False
    ) -> Iterator[Sequence[int]]:
        """Yield places of parameters whose numbers agree; with `apart`, of one dtype and device."""
        columns: list[list[Any]] = []
        if self._has_step:
            columns.append([state["step"].item() for state in states])
        for name in self._numbers:  # parameters that began together may share these tensors
            # Each tensor is read once, which matters where reading waits for a device.
            known = {id(value): to_number(value) for value in {id(s[name]): s[name] for s in states}.values()}
            columns.append([known[id(state[name])] for state in states])
        if apart:
            columns.append([(param.dtype, param.device) for param in params])
        keys = list(zip(*columns, strict=True))
        if len(set(keys)) <= 1:
            yield range(len(params))
            return
        buckets: defaultdict[Any, list[int]] = defaultdict(list)
        for i, key in enumerate(keys):
            buckets[key].append(i)
        yield from buckets.values()

    def _one_by_one(self, options: Options, params: list[Any], grads: list[Any], states: list[State]) -> None:
        m = arithmetic.loop()
        for positions in self._agreeing(params, states):
            scalars = self._scalars_of(options, [states[i] for i in positions])
            for i in positions:
                real = _as_real(params[i], grads[i], states[i])
                self._take(m, *real, options, scalars)
                _write_back(params[i], states[i], real)
            self._advance(options, [states[i] for i in positions])

    def _with_lists(self, options: Options, params: list[Any], grads: list[Any], states: list[State]) -> None:
        m = arithmetic.foreach()
        for positions in self._agreeing(params, states, apart=True):
            scalars = self._scalars_of(options, [states[i] for i in positions])
            real = [_as_real(params[i], grads[i], states[i]) for i in positions]
            state = {name: [item[2][name] for item in real] for name in real[0][2]}
            self._take(m, [item[0] for item in real], [item[1] for item in real], state, options, scalars)
            for i, item in zip(positions, real, strict=True):
                _write_back(params[i], states[i], item)
            self._advance(options, [states[i] for i in positions])

    def _scalars_of(self, options: Options, states: list[State]) -> Any:
        step = states[0]["step"].item() if self._has_step else None
        return self._scalars(options, step, states, to_number)

    def _advance(self, options: Options, states: list[State]) -> None:
        """Set the numbers of states that agree in them to those after the step."""
        if not self._numbers:
            return
        step = states[0]["step"]
        following = self._next_numbers(options, step if options["capturable"] else step.item(), states[0])
        for name, value in following.items():
            like = states[0][name]
            # One tensor for all: the next step replaces it.  Tensors that a graph captures have to stay where they are.
            new = value.to(like.dtype) if tt.is_tensor(value) else like.new_tensor(value)
            for state in states:
                if options["capturable"]:
                    state[name].copy_(new)
                else:
                    state[name] = new

    def _with_tensor_scalars(
        self, group: Options, params: list[Any], grads: list[Any], states: list[State]
    ) -> None:
        recorded = bool(group.get("differentiable"))
        if recorded and (group.get("foreach") or group.get("fused")):
            raise AssertionError("foreach and fused steps don't support autograd: foreach=False, fused=False")
        m = arithmetic.differentiable() if recorded else arithmetic.tensor_scalars()
        for param, grad, state in zip(params, grads, states, strict=True):
            if group.get("capturable"):
                _expect_capturable(param, state)
            if not recorded:
                param = param.detach()
            if self._has_step:
                state["step"].add_(1)
            step = state.get("step")
            if step is not None and not group.get("capturable"):
                step = step.item()
            scalars = self._scalars(group, step, [state], _same)
            real = _as_real(param, grad, state)
            self._take(m, *real, group, scalars)
            _write_back(param, state, real)
            self._advance(group, [state])

    def _take(
        self, m: Arithmetic, param: Operand, grad: Operand, state: State, options: Options, scalars: Any
    ) -> None:
        """Apply what optimizers share, and the formula."""
        if options["maximize"]:
            grad = m.neg(grad)
        decay = options.get("weight_decay", 0)
        if is_set(decay):
            if options.get("decoupled_weight_decay"):
                m.mul_(param, 1 - options["lr"] * decay)
            else:
                grad = m.add(grad, param, alpha=decay)
        self._formula(m, param, grad, state, options, scalars)


def picked(
    places: Sequence[int], params: list[Any], grads: list[Any], states: list[State]
) -> tuple[list[Any], list[Any], list[State]]:
    return [params[i] for i in places], [grads[i] for i in places], [states[i] for i in places]


def _as_real(param: tt.Tensor, grad: tt.Tensor, state: State) -> tuple[Any, Any, State]:
    """Return views of complex tensors as pairs of real numbers."""
    if not param.is_complex():
        return param, grad, state
    seen = {
        name: tt.view_as_real(value) if tt.is_tensor(value) and value.is_complex() else value
        for name, value in state.items()
    }
    return tt.view_as_real(param), tt.view_as_real(grad), seen


def _write_back(param: tt.Tensor, state: State, real: tuple[Any, Any, State]) -> None:
    """Write changed pairs back where they are copies: arrays that cannot change have no views of another dtype."""
    if not param.is_complex() or tt.view_as_real(param.detach())._is_view():
        return
    param.copy_(tt.view_as_complex(real[0]))
    for name, value in state.items():
        if tt.is_tensor(value) and value.is_complex():
            value.copy_(tt.view_as_complex(real[2][name]))


def _expect_capturable(param: tt.Tensor, state: State) -> None:
    step = state.get("step")
    if param.device.type not in CAPTURABLE_DEVICES or (step is not None and step.device != param.device):
        raise AssertionError(
            "If capturable=True, params and state_steps must be on supported devices: "
            f"{list(CAPTURABLE_DEVICES)}; got {param.device}"
        )
