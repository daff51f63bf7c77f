"""Which operator of tt serves each overload of PyTorch's."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from tt._compat.aten.written import NEARLY, WRITTEN
from tt.core.schema.model import Signature

__all__ = ["TABLE", "Row", "names_of", "parse_table", "rows"]

TABLE: Final = Path(__file__).with_name("table.txt")
"""Made from the schemas of both by tests/api/_compat/aten/make_table.py."""


class Row(NamedTuple):
    """What serves one overload: an operator of tt in one of its forms, or a function that is written here."""

    operator: str
    form: str
    schema: str = ""


def parse_table(text: str) -> dict[str, dict[str, str]]:
    """Return name -> overload -> operator of a text of lines `name: overload overload=operator`."""
    table = {}
    for line in text.splitlines():
        name, _, overloads = line.partition(": ")
        plain = name.removesuffix("_") if not name.endswith("__") else name
        row = (word.partition("=") for word in overloads.split())
        table[name] = {overload: operator or plain for overload, _, operator in row}
    return table


@cache
def rows() -> dict[str, dict[str, Row]]:
    """Return name -> overload -> what serves it, in the order of PyTorch's overloads where it is generated."""
    table = {
        name: {overload: Row(operator, _form(name, overload, operator)) for overload, operator in row.items()}
        for name, row in parse_table(TABLE.read_text()).items()
    }
    for qualified, operator in NEARLY.items():
        name, _, overload = qualified.partition(".")
        row = table.setdefault(name, {})
        row[overload or "default"] = Row(operator, _form(name, overload, operator))
    for text in WRITTEN:
        name, _, overload = text.partition("(")[0].partition(".")
        table.setdefault(name, {})[overload or "default"] = Row("", "functional", text)
    return table


def _form(name: str, overload: str, operator: str) -> str:
    if overload == "out" or overload.endswith("_out"):
        return "out"
    changes = name.endswith("_") and not name.endswith("__")
    # An operator that has no functional form is written with the underscore.
    return "inplace" if changes and not operator.partition(".")[0].endswith("_") else "functional"


@cache
def names_of() -> dict[tuple[str, str], tuple[str, str]]:
    """Return (operator, form) -> PyTorch's (name, overload): the first, if it serves several."""
    names: dict[tuple[str, str], tuple[str, str]] = {}
    for name, row in rows().items():
        for overload, served in row.items():
            # Before a name that only leads to it: `absolute` is `abs`.
            own = served.operator.partition(".")[0] == name.removesuffix("_")
            if served.operator and (own or (served.operator, served.form) not in names):
                key = served.operator, served.form
                if key not in names or names[key][0].removesuffix("_") != served.operator.partition(".")[0]:
                    names[key] = name, overload
    return names


def parse_schema(text: str) -> Signature:
    """Return the signature that a schema of PyTorch's describes."""
    return Signature.parse(text, any_spelling=True)
