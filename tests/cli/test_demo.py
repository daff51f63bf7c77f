"""`tt demo`: what it prints.  That it learns is shown in tests/examples/test_digits.py."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

Run = Callable[..., Any]


def test_accuracy_time_and_operators_are_printed(run: Run) -> None:
    ran = run("demo", "--epochs", "2", "--seed", "7")
    assert ran.code == 0
    head, operators = ran.out.split("\noperators that ran\n")
    assert re.fullmatch(
        r"seed  accuracy   loss  seconds\n"
        r"   7  \d\d\.\d%  +0\.\d{3}  +\d+\.\d{3}\n"
        r"\n"
        r"accuracy on held-out digits: \d\d\.\d%\n"
        r"time: \d+\.\d s\n",
        head,
    ), head
    lines = operators.splitlines()
    assert lines[0].split() == ["operator", "form", "calls", "served", "by"]
    assert all(re.fullmatch(r"\S+ +(functional|inplace|out) +\d+  \S.*", line) for line in lines[1:])
    assert ran.err == "seed 7: 1/2 loss LOSS\nseed 7: 2/2 loss LOSS\n".replace("LOSS", "N") or re.fullmatch(
        r"seed 7: 1/2 loss \d\.\d{4}\nseed 7: 2/2 loss \d\.\d{4}\n", ran.err
    )


def test_json_names_the_plugin_that_served_each_operator(run: Run) -> None:
    ran = run("demo", "--epochs", "1", "--seeds", "2", "--json")
    assert ran.err == "", "nothing but the result"
    found = json.loads(ran.out)
    assert [r["seed"] for r in found["runs"]] == [0, 1]
    assert found["epochs"] == 1
    assert found["shuffled_labels"] is False
    assert found["accuracy"] == sum(r["accuracy"] for r in found["runs"]) / 2
    calls = {(row["op"], row["form"]): row["calls"] for row in found["operators"]}
    batches = 2 * 45  # 1,438 images in batches of 32, twice
    assert calls["cross_entropy", "functional"] == batches
    assert calls["mul", "inplace"] >= 4 * batches, "four parameters have a velocity"
    assert all("tt-tensor" in row["served_by"] for row in found["operators"])
    assert [row["calls"] for row in found["operators"]] == sorted(
        (row["calls"] for row in found["operators"]), reverse=True
    )


def test_shuffled_labels_are_announced(run: Run) -> None:
    assert "(labels shuffled: chance is 10%)" in run("demo", "--epochs", "1", "--shuffle-labels").out


def test_a_number_that_makes_no_sense_is_refused(run: Run) -> None:
    ran = run("demo", "--epochs", "0")
    assert ran.code == 2
    assert "--epochs" in ran.err
