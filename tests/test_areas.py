"""Areas of continuous integration take turns, and what a landing touches always runs."""

from __future__ import annotations

import subprocess

import pytest

from tests.areas import AREAS, Area, changed_since, main, plan
from tests.tiers import ROOT

SITE = Area("site", "make site", ("docs",), ("chrome", "chromium"))
WHEELS = Area("wheels", "make wheels", ("build.py",))
ARM = Area("arm", "make arm", ("src",), ("arm-gcc",))


def names(areas) -> list[str]:
    return [area.name for area in areas]


def everything(name: str) -> str:
    return f"/bin/{name}"


def test_each_area_has_its_turn():
    drawn = [names(plan(turn, [], [SITE, WHEELS, ARM], everything).runs) for turn in range(7, 10)]
    assert sorted(drawn) == [["arm"], ["site"], ["wheels"]]


def test_an_area_whose_paths_changed_runs_besides():
    result = plan(1, ["src/sum.c", "README.md"], [SITE, WHEELS, ARM], everything)
    assert result.runs == {WHEELS: "its turn", ARM: "src/sum.c has changed"}
    assert result.others == {SITE: "another one's turn"}


def test_a_path_counts_in_a_folder_not_by_its_first_letters():
    assert names(plan(1, ["docs_old/page.md"], [SITE, WHEELS], everything).runs) == ["wheels"]


def test_an_area_that_cannot_run_says_what_it_needs_and_its_turn_passes():
    drawn = [plan(turn, ["docs/page.md"], [SITE, WHEELS], lambda name: None) for turn in range(2)]
    assert [names(p.runs) for p in drawn] == [[], ["wheels"]]
    assert drawn[0].others[SITE] == "NOT RUN: needs chrome or chromium"


def test_one_of_several_programs_is_enough():
    assert names(plan(0, [], [SITE], lambda name: name == "chromium").runs) == ["site"]


def test_the_command_prints_what_runs_and_how_to_run_the_rest(capsys):
    assert main(["--turn", "0"]) == 0
    output, errors = capsys.readouterr()
    commands = dict(line.split("\t") for line in output.splitlines())
    assert len(commands) <= 1 and set(commands) <= set(names(AREAS))
    assert all(area.name in errors for area in AREAS)
    assert all(area.command in errors for area in AREAS if area.name not in commands)


def test_an_unknown_commit_is_an_error(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--turn", "0", "--since", "nowhere"])
    assert stopped.value.code == 2
    assert "--since nowhere" in capsys.readouterr().err


def test_the_paths_that_changed_are_those_of_git():
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    head = subprocess.run(["git", "diff", "--name-only", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    assert changed_since("HEAD") == set(head.stdout.splitlines())


def test_the_paths_of_areas_are_there():
    assert not [path for area in AREAS for path in area.paths if not (ROOT / path).exists()]
