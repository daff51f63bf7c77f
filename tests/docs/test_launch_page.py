"""docs/distributed-launch.md: its options, scripts and manifests; its examples run as doctests."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest
import yaml

from tt.distributed.run.options import parse_args, parser


@pytest.fixture(scope="module")
def page(pages):
    return pages["docs/distributed-launch.md"]


def blocks(page, language):
    """Return the blocks of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.text, re.MULTILINE | re.DOTALL)


def commands(page):
    """Return the calls of `tt run`, as words, with the variables of launchers replaced by numbers."""
    text = "\n".join([*blocks(page, "sh"), *blocks(page, "yaml")]).replace("\\\n", " ")
    for name in ("$SLURM_NNODES", "$JOB_COMPLETION_INDEX", "$SLURM_JOB_ID"):
        text = text.replace(name, "2")
    return [shlex.split(line) for line in re.findall(r"\btt run (.*)$", text, re.MULTILINE)]


def test_every_option_is_described(page):
    options = [name for action in parser()._actions for name in action.option_strings if "_" not in name]
    missing = [name for name in options if name not in ("-h", "--help") and not page.mentions(name)]
    assert not missing


def test_every_option_that_is_described_exists(page):
    known = {name for action in parser()._actions for name in action.option_strings}
    tables = [line for line in page.text.splitlines() if line.startswith("| `-")]
    found = {name for line in tables for name in re.findall(r"`(--?[a-z][a-z-]*)", line.split("|")[1])}
    assert len(found) > 20
    assert found <= known


def test_every_command_is_valid(page, monkeypatch):
    monkeypatch.setattr("tt.distributed.run.options.workers", lambda text: 2)
    words = commands(page)
    assert len(words) >= 8
    for one in words:
        assert parse_args(one).program


def test_every_script_is_valid(page):
    scripts = blocks(page, "sh")
    assert any("#SBATCH" in script for script in scripts)
    for script in scripts:
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_the_agents_of_slurm_are_one_on_each_machine_and_meet_at_the_first(page):
    (script,) = [script for script in blocks(page, "sh") if "srun tt run" in script]
    assert "--ntasks-per-node=1\n" in script
    (words,) = [words for words in commands(page) if "--rdzv-endpoint=$first:29500" in words]
    options = parse_args(words)
    assert (options.host, options.port, options.run_id) == ("$first", 29500, "2")
    assert options.min_nodes == options.max_nodes == 2  # what stands for the variables


def test_manifests_are_valid_and_their_ports_and_names_fit(page):
    found = [each for text in blocks(page, "yaml") for each in yaml.safe_load_all(text)]
    service, *jobs = found
    assert [each["kind"] for each in found] == ["Service", "Job", "Job"]
    assert service["spec"]["clusterIP"] == "None"  # a text: without an address of its own
    assert service["spec"]["selector"]["job-name"] == jobs[0]["metadata"]["name"]
    for job in jobs:
        pod = job["spec"]["template"]["spec"]
        assert pod["subdomain"] == service["metadata"]["name"]
        name = f"{job['metadata']['name']}-0.{pod['subdomain']}"
        (options,) = [parse_args(words) for words in commands(page) if name in " ".join(words)]
        assert options.host == name
        assert options.port == service["spec"]["ports"][0]["port"]
        assert options.max_nodes == job["spec"]["completions"] == job["spec"]["parallelism"]
        assert job["spec"]["completionMode"] == "Indexed"  # which gives pods their names
