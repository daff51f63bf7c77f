"""Commands, scripts and manifests of the page on launching: the parser of `tt run`, a shell and YAML take them."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from tt.distributed.run.options import parse_args

TEXT = (Path(__file__).parents[2] / "docs" / "distributed-launch.md").read_text()
BLOCKS = re.findall(r"^```(sh|yaml)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
SCRIPTS = [text for kind, text in BLOCKS if kind == "sh"]
MANIFESTS = [found for kind, text in BLOCKS if kind == "yaml" for found in yaml.safe_load_all(text)]
VALUES = {
    "$SLURM_NNODES": "2", "$first": "node1", "$SLURM_JOB_ID": "77", "$JOB_COMPLETION_INDEX": "3",
    "$SLURM_CPUS_PER_TASK": "4",
}  # fmt: skip


def commands(text):
    """Return the words of each `tt run` in a script, with variables as a job would have them."""
    for name, value in VALUES.items():
        text = text.replace(name, value)
    lines = text.replace("\\\n", " ").splitlines()
    found = [shlex.split(line.strip().removeprefix("srun ").removeprefix("exec ")) for line in lines]
    return [words[2:] for words in found if words[:2] == ["tt", "run"]]


def options_of(words):
    return parse_args([word.replace("gpu", "2") for word in words])


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_shell_and_the_parser_take_every_script(script):
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    for words in commands(script):
        assert not any("$" in word for word in words)
        assert options_of(words).nproc >= 1


def test_every_kind_of_command_is_there():
    assert sum(len(commands(script)) for script in SCRIPTS) >= 8
    assert sum("#SBATCH" in script for script in SCRIPTS) == 2


def test_scripts_of_slurm_start_one_agent_or_one_rank_on_each_place():
    agents = [script for script in SCRIPTS if "srun tt run" in script]
    assert len(agents) == 1 and "--ntasks-per-node=1\n" in agents[0]
    (words,) = commands(agents[0])
    found = options_of(words)
    assert (found.host, found.port, found.run_id, found.min_nodes) == ("node1", 29500, "77", 2)


def test_manifests_meet_at_the_pod_that_serves():
    (service,) = [found for found in MANIFESTS if found["kind"] == "Service"]
    jobs = [found for found in MANIFESTS if found["kind"] == "Job"]
    assert service["spec"]["clusterIP"] == "None"  # text: without an address of its own
    assert len(jobs) == 2
    for job in jobs:
        spec = job["spec"]
        pod = spec["template"]["spec"]
        (container,) = pod["containers"]
        assert container["command"] == ["sh", "-c"] and spec["completionMode"] == "Indexed"
        (words,) = commands(container["args"][0])
        found = options_of(words)
        assert found.host == f"{job['metadata']['name']}-0.{service['metadata']['name']}"
        assert found.port == service["spec"]["ports"][0]["port"]
        assert pod["subdomain"] == service["metadata"]["name"]
        assert found.max_nodes == spec["completions"] == spec["parallelism"]
