"""`tt ops show`: all facts about an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt.cli import output
from tt.cli.options import Json, OpName

if TYPE_CHECKING:
    from tt.core.schema.model import OpDefinition

__all__ = ["show"]


def show(name: OpName, as_json: Json = False) -> None:
    """Show an operator: all that its page says, its forms and rules, and who serves it where."""
    from tt.core.host import host
    from tt.testing.coverage import definitions_of

    host.activate_all()
    descriptions = [describe(definition) for definition in definitions_of(name)]
    if as_json:
        output.as_json(descriptions)
        return
    for number, description in enumerate(descriptions):
        if number:
            output.text("", "")
        if description is not descriptions[-1]:
            del description["examples"][1:]  # those of the operator stand once, after its last overload
        print_description(description)


def describe(definition: OpDefinition) -> dict[str, Any]:
    """Return everything about an overload as plain data."""
    from tt.cli.pages.operator_page import relatives, title_of
    from tt.cli.pages.operator_words import errors, parameters, results
    from tt.core.dispatch.registry.registry import REGISTRY
    from tt.core.schema.operator_texts import operator_text

    result, text = definition.result, operator_text(definition)
    return {
        "name": definition.name,
        "signature": str(definition.signature),
        "forms": forms(definition),
        "doc": definition.doc.strip(),
        "formula": text.formula,
        "notes": list(text.notes),
        "parameters": [
            {"name": name, "type": type_, "default": default or None, "meaning": about}
            for name, type_, default, about in parameters(definition)
        ],
        "result": results(definition),
        "errors": errors(definition),
        "see_also": list(relatives(title_of(definition), [definition])),
        "kind": definition.kind,
        "shape_rule": str(definition.meta) if definition.meta else None,
        "promotes": list(definition.promote),
        "result_dtype": result if isinstance(result, str) else ", ".join(result),
        "dtypes": definition.dtypes if isinstance(definition.dtypes, str) else ", ".join(definition.dtypes),
        "gradient": list(definition.grad),
        "autocast": definition.autocast_policy("cuda") or None,
        "autocast_cpu": definition.autocast_policy("cpu") or None,
        "core": definition.core,
        "tags": list(definition.tags),
        "reference": definition.ref,
        "samples": definition.samples,
        "defined_by": str(REGISTRY.definition_source(definition.name)),
        "examples": examples(definition),
        "served": served(definition),
    }


def examples(definition: OpDefinition) -> list[str]:
    """Return the example of an overload, then those that its operator has besides."""
    from tt.core.schema.operator_texts import further_examples

    signature = definition.signature
    further = further_examples().get(signature.name, "") if signature.namespace == "tt" else ""
    return [example.strip() for example in (definition.example or "", further) if example]


def forms(definition: OpDefinition) -> dict[str, str]:
    """Return the forms besides the function, with their signatures."""
    calls = {}
    if "method" in definition.variants:
        calls["method"] = f"Tensor.{definition.signature.name}"
    if definition.has_property:
        calls["attribute"] = f"Tensor.{definition.signature.name}"
    if definition.has_inplace:
        calls["in-place"] = str(definition.signature.inplace())
    if definition.has_out:
        calls["out"] = str(definition.signature.out())
    return calls


def served(definition: OpDefinition) -> list[dict[str, Any]]:
    """Return who serves an operator: kernels by place and form, the composite, the rules of layers."""
    from tt.core.dispatch.registry.registry import REGISTRY, code_location
    from tt.core.host import host
    from tt.core.types.dtype import DTYPES
    from tt.testing.coverage import kernel_dtypes

    rows: list[dict[str, Any]] = []
    for registration in REGISTRY.kernels.get(definition.name, ()):
        kernel, dtypes = registration.kernel, kernel_dtypes(registration, definition)
        refusal = registration.eligibility().refusal
        rows.append(
            {
                "where": registration.where,
                "how": f"kernel, {kernel.form}" + (", passed over" if refusal else ""),
                "dtypes": [d.name for d in DTYPES if d.name in dtypes],
                "by": str(registration.source),
                "code": code_location(kernel.function),
                "passed_over": refusal,
            }
        )
    rows.sort(key=lambda row: row["where"])
    composite = REGISTRY.composite(definition.name)
    if composite is not None:
        location = code_location(composite.function)
        rows.append(
            {
                "where": "anywhere",
                "how": "composite",
                "dtypes": [],
                "by": str(composite.source),
                "code": location,
                "passed_over": "",
            }
        )
    for name in host.names("layer"):
        layer = REGISTRY.layers.get(name)
        # Generic layers treat every operator alike, so they say nothing of this one.
        if layer is None or layer.generic:
            continue
        rule = layer.rule(REGISTRY.operator(definition.name), "functional")
        if rule is not None:
            rows.append(
                {
                    "where": f"layer {name}",
                    "how": "rule",
                    "dtypes": [],
                    "by": layer_source(name),
                    "code": "",
                    "passed_over": "",
                }
            )
    return rows


def layer_source(name: str) -> str:
    """Return which distribution brings a layer."""
    from tt.core.host import host

    for plugin in host.plugins():
        if plugin.manifest is not None and name in plugin.manifest.layers:
            return f"{plugin.distribution} {plugin.version}".rstrip()
    return "tt itself"


def print_description(found: dict[str, Any]) -> None:
    """Print what `describe` returned."""
    from tt.testing.coverage import dtypes_in_words

    output.text(found["signature"], "")
    for paragraph in (found["doc"], found["formula"], *found["notes"]):
        if paragraph:
            output.text(*indented(paragraph), "")
    names = {
        "kind": "kind", "shape_rule": "shape rule", "result_dtype": "result dtype", "dtypes": "dtypes",
        "reference": "reference", "samples": "samples", "defined_by": "defined by",
    }  # fmt: skip
    values: dict[str, str] = {f"  {kind}": signature for kind, signature in found["forms"].items()}
    values |= {f"  {label}": found[key] for key, label in names.items()}
    values |= {f"  {key}": ", ".join(found[key]) for key in ("promotes", "gradient", "tags")}
    values["  core"] = "yes: a new backend must implement it" if found["core"] else "no"
    # Not for `out` alone, which every operator explains in the same words.
    output.fields(values)
    if any(p["meaning"] for p in found["parameters"] if p["name"] != "out"):
        output.heading("parameters")
        output.table(
            ["name", "type", "default", "meaning"],
            [[p["name"], p["type"], p["default"] or "", p["meaning"]] for p in found["parameters"]],
            empty="none",
        )
    for title, lines in {
        "result": found["result"],
        "errors": [f"{name}: {when}" for name, when in found["errors"].items()],
        "examples": found["examples"],
        "see also": [", ".join(found["see_also"])] if found["see_also"] else [],
    }.items():
        if lines:
            output.heading(title)
            output.text(*(line for text in lines for line in indented(text)))
    output.heading(f"who serves {found['name']}")
    output.table(
        ["where", "how", "dtypes", "by", "code"],
        [[r["where"], r["how"], dtypes_in_words(r["dtypes"]), r["by"], r["code"]] for r in found["served"]],
        empty="none",
    )
    passed_over = [f"{r['by']} {r['code']}: {r['passed_over']}" for r in found["served"] if r["passed_over"]]
    if passed_over:
        output.heading("passed over")
        output.text(*passed_over)


def indented(text: str) -> list[str]:
    """Return the lines of a text below a heading."""
    return [f"  {line}".rstrip() for line in text.splitlines()]
