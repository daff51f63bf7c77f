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


def test_the_manifest_is_valid_and_its_ports_and_names_fit(page):
    (text,) = blocks(page, "yaml")
    service, job = yaml.safe_load_all(text)
    assert (service["kind"], job["kind"]) == ("Service", "Job")
    pod = job["spec"]["template"]["spec"]
    assert service["spec"]["selector"]["job-name"] == job["metadata"]["name"]
    options = next(parse_args(words) for words in commands(page) if "--master-addr=train-0.train" in words)
    assert options.host == f"{job['metadata']['name']}-0.{pod['subdomain']}"
    assert options.port == service["spec"]["ports"][0]["port"]
    assert options.max_nodes == job["spec"]["completions"] == job["spec"]["parallelism"]
