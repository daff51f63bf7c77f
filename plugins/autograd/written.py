"""Written-out rules: what `Rule.call` does, as a function of the arguments of one operator.

Used where the hot modules are interpreted; see Note [Written-out calls] in `core/dispatch/written`.  What is seldom
(views, nodes with several results, recording switched off in some thread) is left to `Rule.call`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt.core.library import TensorBase
from tt.plugins.autograd.graph import STATE, Record

__all__ = ["write_rule"]

PLAIN, TENSOR, TENSORS, RESULT, FACT = range(5)
"""What a slot of a plan holds; see `rules`."""


def write_rule(
    rule: Any, entry: Any, below: Callable[..., Any] | None, make: Callable[..., Callable[..., Any]]
) -> Callable[..., Any] | None:
    """Return the function of a rule whose operator takes no lists and makes one result that is no view; else None.

    Parameters
    ----------
    rule, entry : Rule, Entry
        What is called.
    below : callable or None
        Runs the kernel.
    make : callable
        Makes a function of its head, its lines and the constants in them.
    """
    from tt.plugins.autograd import rules

    ordinary: Any = rules.Rule
    if type(rule).call is not ordinary.call:
        return None
    spec = entry.below.specs[0] if len(entry.below.specs) == 1 else None
    recorded = spec is not None and STATE.floating >> spec.code & 1
    if below is None or rule.list_places or rule.is_view or entry.below.result != 0 or not recorded:
        return None
    names = [f"p{i}" for i in range(len(entry.operator.arguments))]
    args = f"({''.join(f'{name}, ' for name in names)})"
    again = f"return call(entry, {args})"
    lines = ["if STATE.switched_off or STATE.packing or STATE.anomaly:", f"    {again}", "needs = 0"]
    places = rule.differentiable
    arguments = entry.operator.arguments
    for place, position in enumerate(places):
        name, type_ = names[position], arguments[position].type
        sure = type_.is_tensor and not type_.or_scalar and not type_.optional
        test = f"{name}.keys & bit" if sure else f"isinstance({name}, TensorBase) and {name}.keys & bit"
        lines += [
            f"n{place} = None",
            f"if {test}:",
            f"    record = {name}.record",
            "    if record.number or record.view is not None:",
            f"        {again}",
            f"    n{place} = record.node",
            "    if record.leaf and",
            f"    needs {'|' if place else ''}= {1 << place}",
        ]
        # A leaf whose data was set anew gets another node.
        lines[-2] = (
            f"    if record.leaf and (n{place}.spec is not {name}.spec or n{place}.shape != {name}.handle.shape):"
        )
        lines.insert(-1, f"        {again}")
    nodes = ", ".join(f"n{place}" for place in range(len(places)))
    lines += [
        f"result = below({', '.join(names)})",
        "if needs == 0:",
        "    return result",
        "node = OpNode()",
        f"node.next_nodes = ({nodes},)",
        "node.next_numbers = numbers",
        "node.extras = node.starts = node.versions = None",
        "node.outputs = 1",
        "node.sequence = tick()",
        "node.rule = rule",
        "node.plan = plans[needs] or rule.plan(needs)",
        "node.shape = result.handle.shape",
        "node.spec = result.spec",
        f"(savers[needs] or learn_to_save(node.plan, needs))(node, {''.join(f'{name}, ' for name in names)}result)",
        "record = new_record(Record)",
        "record.node = node",
        "record.number = 0",
        "record.leaf = False",
        "record.view = record.retained = None",
        "result.record = record",
        "result.keys |= bit",
        "return result",
    ]
    constants = {
        "OpNode": rules.OpNode,
        "Record": Record,
        "STATE": STATE,
        "TensorBase": TensorBase,
        "below": below,
        "bit": STATE.bit,
        "call": rule.call,
        "entry": entry,
        "new_record": Record.__new__,
        "numbers": (0,) * len(places),
        "plans": rule.plans,
        "rule": rule,
        "savers": (savers := [None] * (1 << len(places))),
        "learn_to_save": _learning(savers, names, make),
        "tick": STATE.tick,
    }
    return make(", ".join(names), lines, constants)


def _learning(savers: list[Any], names: list[str], make: Callable[..., Any]) -> Callable[[Any, int], Any]:
    """Return what makes the function that saves for one set of needy arguments, and remembers it."""

    def learn_to_save(plan: Any, needs: int) -> Any:
        savers[needs] = write_saving(plan, names, make)
        return savers[needs]

    return learn_to_save


def write_saving(plan: Any, names: list[str], make: Callable[..., Callable[..., Any]]) -> Callable[..., Any]:
    """Return the function that fills the slots of a node: what `rules.save` does for a plan."""
    from tt.plugins.autograd import rules
    from tt.plugins.autograd import saved as saved_tensors

    head = ", ".join(["node", *names, "result"])
    facts: dict[str, Any] = {f"fact{i}": fact for i, (_, _, fact) in enumerate(plan.slots)}
    values, lines, changes = [], [], []
    for i, (kind, position, _) in enumerate(plan.slots):
        if kind == TENSORS:

            def save(node: Any, *args: Any) -> None:
                rules.save(node, args[:-1], args[-1])

            return save
        value = names[position] if kind in (PLAIN, TENSOR) else f"v{i}"
        if kind == RESULT:
            lines.append(f"v{i} = bare_alias(result)")
        elif kind == FACT:
            lines.append(f"v{i} = fact{i}({names[position]})")
        values.append(value)
        if kind in (TENSOR, RESULT):
            lines += [
                f"if isinstance({value}, TensorBase):",
                f"    if {value}.keys & inference:",
                "        raise_inference(node.rule.node_name)",
                f"    s{i} = {value}.storage",
                f"    c{i} = 0 if s{i} is None else s{i}.version",
                "else:",
                f"    c{i} = 0",
            ]
            changes.append(f"c{i}")
    lines.append(f"node.saved = ({''.join(f'{value}, ' for value in values)})")
    if changes:
        lines += [f"if {' or '.join(changes)}:", "    node.versions = versions(node.plan, node.saved)"]
    constants = {
        **facts,
        "TensorBase": TensorBase,
        "bare_alias": rules.bare_alias,
        "inference": STATE.inference_bit,
        "raise_inference": saved_tensors.raise_inference,
        "versions": saved_tensors.versions,
    }
    return make(head, lines, constants)
