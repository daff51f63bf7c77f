import copy
import json

import jsonschema
import pytest
import yaml

from tt.core.schema import json_schema
from tt.core.schema.snapshot import source_path


@pytest.fixture(scope="module")
def validator():
    with open(json_schema.PATH, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_file_is_current():
    assert json_schema.main(["--check"]) == 0


def test_the_operators_fulfil_it(validator):
    with open(source_path(), encoding="utf-8") as file:
        assert list(validator.iter_errors(yaml.safe_load(file))) == []


def test_ops_yaml_names_it_for_editors():
    with open(source_path(), encoding="utf-8") as file:
        assert file.readline() == "# yaml-language-server: $schema=core/schema/ops.schema.json\n"


GOOD = {"schema_version": 1, "ops": [{"func": "f(Tensor x) -> Tensor", "kind": "other"}]}


@pytest.mark.parametrize(
    "change",
    [
        {"knd": "other"},
        {"kind": "pointwse"},
        {"core": 1},
        {"tags": ["randon"]},
        {"tags": ["random", "random"]},
        {"variants": "function"},
        {"dtypes": "floting"},
        {"result": ["default", "floot"]},
        {"meta": "a b"},
        {"ref": "numpy"},
        {"doc": True},
    ],
)
def test_it_refuses_what_the_loader_refuses(validator, change):
    assert validator.is_valid(GOOD)
    bad = copy.deepcopy(GOOD)
    bad["ops"][0].update(change)
    assert not validator.is_valid(bad)


def test_every_key_is_documented_with_its_words():
    properties = json_schema.json_schema()["$defs"]["op"]["properties"]
    assert all(p["description"] for p in properties.values())
    assert "- view: shares the memory of its argument" in properties["kind"]["description"]
    assert "- real_number: uint8, int8" in properties["dtypes"]["description"]


def test_the_command_refuses_other_arguments(capsys):
    assert json_schema.main(["x"]) == 2
    assert "usage" in capsys.readouterr().err
