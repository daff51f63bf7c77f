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


def write_rule(
    rule: Any, entry: Any, below: Callable[..., Any] | None, make: Callable[..., Callable[..., Any]]
) -> Callable[..., Any] | None:
    """Return the function of a rule with one or two differentiable arguments that makes one result; else None.

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
    if below is None or rule.first < 0 or rule.is_view or entry.below.result != 0 or not recorded:
        return None
    names = [f"p{i}" for i in range(len(entry.operator.arguments))]
    args = f"({''.join(f'{name}, ' for name in names)})"
    again = f"return call(entry, {args})"
    lines = ["if STATE.switched_off or STATE.packing or STATE.anomaly:", f"    {again}", "needs = 0"]
    places = [rule.first] if rule.second < 0 else [rule.first, rule.second]
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
        "plan = node.plan = plans[needs] or rule.plan(needs)",
        "node.shape = result.handle.shape",
        "node.spec = result.spec",
        "if plan.slots:",
        f"    save(node, {args}, result)",
        "else:",
        "    node.saved = ()",
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
        "save": rules.save,
        "tick": STATE.tick,
    }
    return make(", ".join(names), lines, constants)
