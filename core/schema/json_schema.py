"""The JSON Schema of schema files, for editors.

`python -m tt.core.schema.json_schema` writes ops.schema.json; with `--check` it exits with 1 if that file is stale.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Final

from tt.core.schema.fields import FIELDS, SCHEMA_VERSION, TOP_LEVEL, Field
from tt.core.schema.generate import write

__all__ = ["json_schema"]

PATH: Final = os.path.join(os.path.dirname(os.path.realpath(__file__)), "ops.schema.json")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) that every schema file fulfils."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Operators of tt",
        "type": "object",
        "additionalProperties": False,
        "required": ["schema_version", "ops"],
        "properties": {
            "schema_version": {"description": TOP_LEVEL["schema_version"], "const": SCHEMA_VERSION},
            "namespace": {
                "description": TOP_LEVEL["namespace"], "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
            },
            "ops": {
                "description": TOP_LEVEL["ops"],
                "anyOf": [
                    {"$ref": "#/$defs/entries"},
                    {"type": "object", "additionalProperties": {"$ref": "#/$defs/entries"}},
                ],
            },
        },
        "$defs": {
            "entries": {"type": "array", "items": {"$ref": "#/$defs/op"}},
            "op": {
                "type": "object",
                "additionalProperties": False,
                "required": [key for key, field in FIELDS.items() if field.required],
                "properties": {key: _property(field) for key, field in FIELDS.items()},
            }
        },
    }  # fmt: skip


def _property(field: Field) -> dict[str, Any]:
    described: dict[str, Any] = {"description": _description(field)}
    if field.form == "flag":
        return described | {"type": "boolean"}
    word: dict[str, Any] = {"type": "string", "minLength": 1}
    if field.words is not None:
        word = {"enum": list(field.words)}
    elif field.pattern:
        word["pattern"] = f"^(?:{field.pattern})$"
    words = {"type": "array", "items": word}
    if field.form == "text":
        return described | word
    if field.form == "words":
        return described | words | {"uniqueItems": True}
    return described | {"anyOf": [word, words]}


def _description(field: Field) -> str:
    lines = [field.doc]
    if field.words is not None:
        lines += [f"- {word}: {meaning}" for word, meaning in field.words.items()]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Run the command; the arguments are those after its name."""
    if set(arguments) - {"--check"}:
        print("usage: python -m tt.core.schema.json_schema [--check]", file=sys.stderr)
        return 2
    text = json.dumps(json_schema(), indent=2) + "\n"
    if "--check" not in arguments:
        write(PATH, text)
        return 0
    with open(PATH, encoding="utf-8") as file:
        current = file.read() == text
    if not current:
        print("ops.schema.json is stale; run: python -m tt.core.schema.json_schema", file=sys.stderr)
    return int(not current)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
