"""Random programs that run on tt and on torch alike, step by step, and the observations of each step.

A program is a list of steps (name, numbers ...); numbers choose among the tensors that there are.  Nearly everything
that changes a graph is a step: operators, views, changes in place, hooks, backward passes.  A step that a library
refuses is seen as refused, and the program goes on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Step = tuple[Any, ...]

SHAPES = ((2, 3), (2, 3), (3,), ())
UNARY = ("sin", "tanh", "exp", "sigmoid", "neg", "square", "relu", "clone")
BINARY = ("mul", "add", "sub", "maximum")
REDUCED = ("sum", "mean", "amax", "logsumexp", "cumsum", "softmax")
SEVERAL = ("max", "sort", "var_mean", "aminmax")
VIEWS: dict[str, Callable[[Any, int], Any]] = {
    "transpose": lambda x, n: x.transpose(0, -1),
    "select": lambda x, n: x.select(n % 2 - 1, n % 2),
    "narrow": lambda x, n: x.narrow(-1, n % 2, 1),
    "flat": lambda x, n: x.view(-1),
    "unsqueeze": lambda x, n: x.unsqueeze(n % 2),
    "slice": lambda x, n: x[n % 2 :],
    "diagonal": lambda x, n: x.diagonal(),
    "expand": lambda x, n: x.expand(2, *x.shape),
}
PARTS: dict[str, Callable[[Any], Any]] = {
    "unbind": lambda x: x.unbind(0),
    "split": lambda x: x.split(1, -1),
    "chunk": lambda x: x.chunk(2, 0),
}
CHANGES = ("mul_", "add_", "copy_", "sub_")
ALONE = ("sin_", "zero_", "square_", "neg_", "relu_")


class Machine:
    """Runs steps on one library.

    Parameters
    ----------
    lib : module
        tt or torch.
    """

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        rng = np.random.default_rng(0)
        self.tensors = [
            lib.tensor(rng.uniform(0.2, 1.0, shape).tolist(), dtype=lib.float64, requires_grad=True)
            for shape in SHAPES
        ]
        self.leaves = list(self.tensors)
        self.of_nodes: list[Any] = []  # what hooks on tensors that are not leaves saw, in their order
        self.of_leaves: dict[int, list[Any]] = {}  # what hooks on leaves saw, leaf by leaf
        self.handles: list[Any] = []

    def pick(self, number: int) -> Any:
        return self.tensors[number % len(self.tensors)]

    def operand(self, number: int) -> Any:
        """Return a tensor to compute with; views made under no_grad get gradients in tt, and none in torch."""
        x = self.pick(number)
        return x.detach() if is_quiet_view(x) else x

    def add(self, tensor: Any) -> Any:
        self.tensors.append(tensor)
        return seen(tensor)

    def run(self, step: Step) -> Any:
        """Run one step and return the observations of it."""
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # .grad of tensors that are not leaves, and hooks where grad is None
            try:
                return getattr(self, "do_" + step[0])(*step[1:])
            except (RuntimeError, IndexError, TypeError, ValueError):
                return "refused"  # the kinds of errors are compared by test_mistakes

    # --- operators -------------------------------------------------------------------------------------------------

    def do_unary(self, op: str, i: int) -> Any:
        return self.add(getattr(self.operand(i), op)())

    def do_binary(self, op: str, i: int, j: int) -> Any:
        return self.add(getattr(self.lib, op)(self.operand(i), self.operand(j)))

    def do_reduced(self, op: str, i: int) -> Any:
        return self.add(getattr(self.operand(i), op)(-1))

    def do_several(self, op: str, i: int) -> Any:
        x = self.operand(i)
        found = x.aminmax(dim=-1) if op == "aminmax" else getattr(self.lib, op)(x, -1)
        return [self.add(t) for t in found if t.is_floating_point()]

    def do_matmul(self, i: int, j: int) -> Any:
        return self.add(self.operand(i) @ self.operand(j).transpose(0, -1))

    def do_cat(self, i: int, j: int) -> Any:
        return self.add(self.lib.cat([self.operand(i), self.operand(j)], -1))

    def do_where(self, i: int, j: int) -> Any:
        x, y = self.operand(i), self.operand(j)
        return self.add(self.lib.where(x > 0.5, x, y))

    def do_gather(self, i: int) -> Any:
        x = self.operand(i)
        return self.add(x[self.lib.tensor([0, 1, 0])])

    # --- views -----------------------------------------------------------------------------------------------------

    def do_view(self, op: str, i: int, n: int) -> Any:
        return self.add(VIEWS[op](self.pick(i), n))

    def do_parts(self, op: str, i: int) -> Any:
        x = self.pick(i)
        if not x.requires_grad:
            return None  # views of what has no gradient are unknown to tt: see docs/differences.md
        return [self.add(part) for part in PARTS[op](x)]

    def do_quiet_view(self, op: str, i: int, n: int) -> Any:
        x = self.pick(i)
        if not x.requires_grad:
            return None  # the same
        with self.lib.no_grad():
            return self.add(VIEWS[op](x, n))

    def do_quiet(self, op: str, i: int) -> Any:
        with self.lib.no_grad():
            return self.add(getattr(self.pick(i), op)())

    def do_detach(self, i: int) -> Any:
        return self.add(self.pick(i).detach())

    # --- changes in place ------------------------------------------------------------------------------------------

    def do_change(self, op: str, i: int, j: int, quiet: bool) -> Any:
        x, y = self.pick(i), self.operand(j)
        if memory_of(x) == memory_of(y):
            return None  # values may have changed already, and with x.mul_(x) torch loses its own
        if y.ndim > x.ndim:
            return None  # NumPy copies (1, 3) to (3,)
        with self.lib.set_grad_enabled(not quiet):
            getattr(x, op)(y)
        return seen(x)

    def do_change_alone(self, op: str, i: int, quiet: bool) -> Any:
        x = self.pick(i)
        if 0 in x.stride():
            return None  # torch lets zero_() write several times to one place
        with self.lib.set_grad_enabled(not quiet):
            getattr(x, op)()
        return seen(x)

    def do_set_item(self, i: int, j: int, n: int) -> Any:
        x, y = self.pick(i), self.operand(j)
        if memory_of(x) == memory_of(y):
            return None  # the same
        x[n % 2] = y if n % 3 else 0.5
        return seen(x)

    def do_detach_(self, i: int) -> Any:
        return self.add(self.pick(i).tanh().detach_())

    def do_require(self, i: int, flag: bool) -> Any:
        x = self.pick(i)
        if x._base is not None or any(t._base is x for t in self.tensors):
            return None  # views ask their bases in torch
        return seen(x.requires_grad_(flag))

    # --- hooks -----------------------------------------------------------------------------------------------------

    def note(self, x: Any) -> Callable[[Any], None]:
        number = len(self.handles)
        place = next((k for k, leaf in enumerate(self.leaves) if leaf is x), None)
        log = (
            self.of_nodes if not x.is_leaf else self.of_leaves.setdefault(-1 if place is None else place, [])
        )
        return lambda value: log.append((number, values(value)))

    def noted(self) -> list[Any]:
        return [list(self.of_nodes), {place: list(log) for place, log in self.of_leaves.items()}]

    def do_hook(self, i: int, scale: float | None) -> Any:
        x = self.pick(i)
        if is_quiet_view(x):
            return None  # a leaf that gets gradients in tt, and none in torch
        note = self.note(x)

        def hook(gradient: Any) -> Any:
            if gradient is None:
                return None  # torch calls hooks of results that have no gradient, too
            note(gradient)
            return None if scale is None else gradient * scale

        self.handles.append(x.register_hook(hook))
        return None

    def do_retain(self, i: int) -> Any:
        self.pick(i).retain_grad()
        return None

    def do_after(self, i: int) -> Any:
        x = self.pick(i)
        note = self.note(x)
        self.handles.append(x.register_post_accumulate_grad_hook(lambda leaf: note(leaf.grad)))
        return None

    def do_node_hook(self, i: int, before: bool) -> Any:
        x = self.pick(i)
        if x.grad_fn is None:
            return None
        note = self.note(x)
        if before:
            self.handles.append(x.grad_fn.register_prehook(lambda outputs: note(outputs[0])))
        else:
            self.handles.append(x.grad_fn.register_hook(lambda inputs, outputs: note(outputs[0])))
        return None

    def do_unhook(self, n: int) -> Any:
        if self.handles:
            self.handles[n % len(self.handles)].remove()
        return None

    # --- passes ----------------------------------------------------------------------------------------------------

    def do_backward(self, i: int, keep: bool, create: bool) -> Any:
        x = self.pick(i)
        x.sum().backward(retain_graph=keep or None, create_graph=create)
        found = [
            values(t.grad) for t in self.tensors if not is_quiet_view(t) and (is_leaf(t) or t.retains_grad)
        ]
        return [found, *self.noted()]

    def do_grad(self, i: int, j: int, create: bool) -> Any:
        x = self.pick(i)
        if is_quiet_view(self.pick(j)):
            return None  # the same
        weights = self.lib.arange(1.0, x.numel() + 1, dtype=self.lib.float64).reshape(tuple(x.shape))
        (found,) = self.lib.autograd.grad(
            (x * weights).sum(), self.pick(j), create_graph=create, retain_graph=True, allow_unused=True
        )
        if found is None:
            return [None, *self.noted()]
        # As a tensor of its own: which memory a gradient shares, and whether one that is constant has a history of
        # zeros, is each library's own affair.
        self.tensors.append(found.detach() * 1)
        return [values(found), *self.noted()]

    def do_batched(self, i: int, j: int) -> Any:
        x = self.pick(i)
        if is_quiet_view(x) or is_quiet_view(self.pick(j)) or self.handles:
            return None  # the same; and hooks see the vectors of all passes at once
        rows = self.lib.eye(x.numel(), dtype=self.lib.float64).reshape((-1, *x.shape))
        (found,) = self.lib.autograd.grad(
            x, self.pick(j), rows, retain_graph=True, allow_unused=True, is_grads_batched=True
        )
        return values(found)

    # --- the end ---------------------------------------------------------------------------------------------------

    def finish(self) -> list[Any]:
        """Return the values of all tensors, and derivatives of the last ones up to the third."""
        found: list[Any] = [seen(t) for t in self.tensors]
        for handle in self.handles:
            handle.remove()  # in a pass that fails, torch has called those of leaves that were ready
        for x in [t for t in self.tensors[::-1] if t.requires_grad][:3]:
            found.append(self.derivatives(x))
        return found

    def derivatives(self, x: Any) -> Any:
        orders: list[Any] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                y = (x * x).sum()
                for _ in range(3):
                    if not y.requires_grad:
                        # A constant gradient has a history of zeros in torch where a formula compares.
                        orders.append([np.zeros_like(values(leaf)) for leaf in self.leaves])
                        continue
                    gradients = self.lib.autograd.grad(
                        y, self.leaves, create_graph=True, allow_unused=True, materialize_grads=True
                    )
                    orders.append([values(g) for g in gradients])
                    y = sum(((g * g).sum() for g in gradients[1:]), (gradients[0] * gradients[0]).sum())
            except RuntimeError:
                orders.append("refused")
        return orders


def memory_of(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


def is_leaf(tensor: Any) -> bool:
    try:
        return bool(tensor.is_leaf)
    except RuntimeError:
        return False  # a view that cannot be used any more


def is_quiet_view(tensor: Any) -> bool:
    """Return whether a tensor is a view made under `no_grad` of what has a history: see docs/differences.md."""
    return tensor._base is not None and bool(tensor.requires_grad) and is_leaf(tensor)


def values(tensor: Any) -> Any:
    return None if tensor is None else np.array(tensor.detach().tolist())


def seen(tensor: Any) -> Any:
    """Return the compared parts of a tensor; its strides are each library's own affair."""
    try:
        history = (tensor.requires_grad, tensor.is_leaf, tensor.grad_fn is None, tensor.output_nr)
    except RuntimeError:
        history = "refused"  # a view that cannot be used any more
    return [values(tensor), history]


def run(lib: Any, program: list[Step]) -> list[Any]:
    """Run a program and return the observations."""
    machine = Machine(lib)
    return [machine.run(step) for step in program] + machine.finish()


def differs(found: Any, expected: Any) -> bool:
    """Return whether two sights differ by more than rounding."""
    if isinstance(found, np.ndarray) and isinstance(expected, np.ndarray):
        return found.shape != expected.shape or not np.allclose(found, expected, 1e-6, 1e-9, equal_nan=True)
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() != expected.keys() or any(differs(v, expected[k]) for k, v in found.items())
    if isinstance(found, list | tuple) and isinstance(expected, list | tuple):
        return len(found) != len(expected) or any(map(differs, found, expected))
    return type(found) is not type(expected) or bool(found != expected)
