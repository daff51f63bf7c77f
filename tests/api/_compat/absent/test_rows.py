"""Names that libraries import and tt lacks: what they are, and that they hide nothing that tt has."""

from __future__ import annotations

import importlib
import pickle
import warnings
from importlib.util import find_spec

import pytest

import tt
from tt._compat.absent.rows import ANSWERS, AbsentModule, absent, absent_names, absent_spec, table
from tt._compat.absent_dtypes import quint2x4, quint4x2
from tt._compat.aliases import ALIASES
from tt._compat.fsdp_options import FullStateDictConfig, StateDictType
from tt._compat.placements import Partial, Replicate, Shard
from tt.errors import UnsupportedError

ROWS = [row for rows in absent_names().values() for row in rows.values()]


def home(path: str):
    """Return the module of tt or of the shims that serves a path without the facade, or None."""
    for name in (f"tt._compat.{path}", f"tt.{path.removeprefix('torch').removeprefix('.')}".rstrip(".")):
        try:
            if find_spec(name) is not None:
                return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    return None


def test_no_row_hides_a_name_that_tt_has():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hidden = [
            (row.path, row.name)
            for row in ROWS
            if (module := home(row.path)) is not None and hasattr(module, row.name)
        ]
    assert hidden == []


def test_every_row_names_something_that_can_be_made_and_knows_its_answer():
    for row in ROWS:
        assert row.path.partition(".")[0] in ("torch", "functorch"), row
        assert row.name.isidentifier(), row
        answer = row.text.partition(":")[2]
        assert not answer or answer in ANSWERS, row
        value = row.value()
        if "@" not in row.text:
            assert (value.__module__, value.__name__) == (row.path, row.name)


@pytest.mark.torch
def test_every_row_is_a_name_of_pytorch():
    pytest.importorskip("torch")
    unknown = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path, rows in absent_names().items():
            try:
                module = importlib.import_module(path)
            except ImportError:  # of a package that PyTorch needs for it
                assert path == "torch.utils.tensorboard", path
                continue
            unknown += [(path, name) for name in rows if not hasattr(module, name)]
    assert unknown == []


def test_a_class_can_be_named_subclassed_and_tested_for_and_raises_when_it_is_made():
    graph = absent("torch.fx", "Graph", "tt has no graphs")

    class Mine(graph):
        pass

    assert not isinstance(tt.ones(1), graph)
    assert graph[int] is graph
    for cls in (graph, Mine):
        with pytest.raises(UnsupportedError, match=r"torch\.fx\.Graph\(\): tt has no graphs"):
            cls()


def test_a_function_raises_when_it_is_called():
    trace = absent("torch.fx", "symbolic_trace", "tt has no graphs")
    with pytest.raises(NotImplementedError, match=r"torch\.fx\.symbolic_trace\(\): tt has no graphs"):
        trace(tt.nn.Linear(1, 1))


@pytest.mark.parametrize(
    ("answer", "args", "expected"),
    [("same", (abs,), abs), ("bool", (3,), True), ("false", (), False), ("none", (1, 2), None)],
)
def test_what_has_nothing_to_do_is_answered(answer, args, expected):
    assert absent("torch.fx", f"wrap:{answer}", "no graphs")(*args) is expected


def test_a_decorator_gives_the_function_back():
    assert absent("torch.fx", "compatibility:decorator", "no graphs")(is_backward_compatible=True)(abs) is abs


def test_rows_of_several_tables_keep_their_own_reasons():
    first, second = table("one", {"torch.a": "f"}), table("two", {"torch.a": "g"})
    assert [(row.name, row.reason) for row in (*first, *second)] == [("f", "one"), ("g", "two")]


def test_a_module_of_rows_has_its_names_and_nothing_else():
    module = AbsentModule("torch.distributed.pipelining")
    assert "PipelineStage" in dir(module)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        module.nonsense  # noqa: B018 - the look is what raises
    with pytest.raises(UnsupportedError, match="pipelines"):
        module.pipeline()


def test_the_packages_of_modules_can_be_imported_and_others_cannot():
    assert absent_spec("torch.ao") is not None
    assert absent_spec("torch.nonsense") is None


def test_every_alias_leads_to_a_module_of_tt():
    for path, name in ALIASES.items():
        assert find_spec(name) is not None, path


def test_dtypes_of_less_than_a_byte_are_keys_of_tables_and_no_more():
    assert {quint4x2: 1}[quint4x2] == 1
    assert quint4x2 != quint2x4
    assert repr(quint4x2) == "torch.quint4x2"
    with pytest.raises(TypeError):
        tt.ones(1, dtype=quint4x2)
    with pytest.raises(UnsupportedError, match="less than a byte"):
        quint4x2.is_signed  # noqa: B018


def test_placements_and_options_are_data():
    assert Shard(1).is_shard(1)
    assert not Shard(1).is_shard(0)
    assert Replicate() == Replicate()
    assert Partial().is_partial("sum")
    assert not Partial("avg").is_partial("sum")
    assert pickle.loads(pickle.dumps(Shard(0))) == Shard(0)
    assert StateDictType["FULL_STATE_DICT"] is StateDictType.FULL_STATE_DICT
    assert FullStateDictConfig(rank0_only=True).offload_to_cpu is False
