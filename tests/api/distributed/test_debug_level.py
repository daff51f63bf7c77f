"""Levels of what is logged."""

from __future__ import annotations

import logging

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt.nn.parallel import DistributedDataParallel


@pytest.fixture(autouse=True)
def level():
    before = dist.get_debug_level()
    yield
    dist.set_debug_level(before)


@pytest.mark.parametrize(("text", "level"), [("OFF", 0), ("info", 1), ("Detail", 2)])
def test_the_variable_chooses_the_level(monkeypatch, text, level):
    monkeypatch.setenv("TT_DISTRIBUTED_DEBUG", text)
    dist.set_debug_level_from_env()
    assert dist.get_debug_level() == level and dist.get_debug_level() is dist.DebugLevel(level)


def test_other_values_are_refused(monkeypatch):
    monkeypatch.setenv("TT_DISTRIBUTED_DEBUG", "loud")
    with pytest.raises(RuntimeError, match="one of OFF, INFO, DETAIL, got 'loud'"):
        dist.set_debug_level_from_env()
    with pytest.raises(TypeError, match="expected a DebugLevel, got str"):
        dist.set_debug_level("INFO")


def test_facts_of_models_are_logged_and_in_detail_each_operation(caplog):
    def train():
        model = DistributedDataParallel(tt.nn.Linear(3, 2))
        model(tt.ones(1, 3)).sum().backward()

    texts = []
    for level in dist.DebugLevel:
        dist.set_debug_level(level)
        caplog.clear()
        with caplog.at_level(logging.INFO):
            run(train, 2)
        texts.append(caplog.text)
    assert texts[0] == ""
    assert "module_name: Linear" in texts[1] and "all_reduce" not in texts[1]
    assert "module_name: Linear" in texts[2]
    assert "rank 1, group 0: all_reduce of float32[8] at " in texts[2]
