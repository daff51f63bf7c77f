"""The programs of examples/programs learn, and give PyTorch's losses when PyTorch is imported."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tt
import tt.distributed
from tt.distributed.run import main as run_command
from tt.port import port

FOLDER = Path(import_module("tt.examples.programs").__file__ or "").parent
PROGRAMS = {
    "convnet": {"class": "Net", "steps": 14, "falls": 0.8, "dropout": {"dropout": 0.0}},
    "lstm": {"class": "Writer", "steps": 40, "falls": 0.9, "dropout": {"dropout": 0.0}},
    "gpt": {"class": "GPT", "steps": 20, "falls": 0.8, "dropout": {}},
    "vae": {"class": "VAE", "steps": 30, "falls": 0.65, "dropout": {}},
    "graph_network": {"class": "GraphNetwork", "steps": 15, "falls": 0.7, "dropout": {}},
}


def program(name: str) -> ModuleType:
    return import_module(f"tt.examples.programs.{name}")


def with_torch(name: str) -> ModuleType:
    """Return the program as PyTorch runs it."""
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    source = source.replace("import tt as torch\n", "import torch\n")
    source = re.sub(r"^(import|from) tt\b", r"\1 torch", source, flags=re.MULTILINE)
    module = ModuleType(f"{name}_with_torch")
    exec(compile(source, f"{name}.py", "exec"), vars(module))
    return module


def made(module: ModuleType, name: str, **options: Any) -> Any:
    return getattr(module, PROGRAMS[name]["class"])(**options)


def test_every_program_is_tested() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} - {
        "__init__", "data_parallel", "hogwild", "mixed_precision",
    } == set(PROGRAMS)  # fmt: skip


@pytest.mark.parametrize(
    ("seed", "steps"), [(0, 25), *(pytest.param(n, 150, marks=pytest.mark.exhaustive) for n in range(5))]
)
def test_four_processes_train_one_model(seed: int, steps: int) -> None:
    hogwild = program("hogwild")
    tt.manual_seed(seed)
    model = hogwild.Net()
    before = hogwild.accuracy(model)
    assert hogwild.train(model, steps, seed) == [0, 0, 0, 0]
    assert hogwild.accuracy(model) > (max(before, 0.25) + 0.2 if steps < 100 else 0.85)
    assert all(p.is_shared() and p.grad is None for p in model.parameters())


@pytest.mark.parametrize("size", [1, 2, 4])
def test_any_number_of_ranks_takes_the_steps_of_one(size: int) -> None:
    module = program("data_parallel")
    generator = tt.Generator().manual_seed(0)
    start = {
        name: tt.randn(value.shape, generator=generator) for name, value in module.Net().state_dict().items()
    }

    def train() -> list[float]:
        model = module.Net()
        model.load_state_dict(start)
        # The sampler deals out the same samples to each step, whatever the number of ranks.
        return module.train(model, 30)

    losses = tt.distributed.run_threads(train, size)
    assert all(own == losses[0] for own in losses)
    np.testing.assert_allclose(losses[0], tt.distributed.run_threads(train, 1)[0], rtol=1e-3)
    assert np.mean(losses[0][-3:]) < 0.7 * np.mean(losses[0][:3])


@pytest.mark.parametrize("options", [("--nproc-per-node=2", "-m", "tt.examples.programs.data_parallel")])
def test_the_command_of_processes_with_parts_shows_a_result(options, capfd) -> None:
    assert run_command([*options, "--steps", "2"]) == 0
    assert capfd.readouterr().out.count("with 2 processes") == 1


def test_training_in_float16_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    make = program("mixed_precision").Training
    tt.manual_seed(0)
    training = make()
    first = training.run(30)
    training.save(tmp_path / "checkpoint.pt")
    expected = training.run(20)
    tt.manual_seed(1)
    resumed = make()
    resumed.load(tmp_path / "checkpoint.pt")
    assert resumed.run(20) == expected and resumed.step == 50
    assert resumed.scaler.get_scale() == training.scaler.get_scale() <= 2.0**20
    assert np.mean(expected[-5:]) < np.mean(first[:5])


@pytest.mark.torch
def test_it_starts_as_in_pytorch() -> None:
    pytest.importorskip("torch")
    theirs, ours = with_torch("mixed_precision").Training(), program("mixed_precision").Training()
    state = {key: tt.from_numpy(value.numpy()) for key, value in theirs.model.state_dict().items()}
    ours.model.load_state_dict(state)
    np.testing.assert_allclose(ours.run(5), theirs.run(5), rtol=2e-3)  # float16 has 11 bits
    assert ours.scaler.state_dict() == theirs.scaler.state_dict()


@pytest.mark.exhaustive
def test_the_command_of_hogwild_shows_a_result(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["hogwild", "--steps", "1", "--seed", "3"])
    program("hogwild").main()
    assert capsys.readouterr().out.count("accuracy") == 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_loss_falls(name: str) -> None:
    tt.manual_seed(0)
    steps = PROGRAMS[name]["steps"]
    losses = program(name).train(made(program(name), name), steps)
    assert len(losses) == steps
    assert np.mean(losses[-3:]) < PROGRAMS[name]["falls"] * np.mean(losses[:3])


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_command_trains_for_so_many_steps_and_shows_a_result(name, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--steps", "1", "--seed", "3"])
    program(name).main()
    shown = capsys.readouterr().out
    assert shown.count("step ") == 1
    assert "step    0  loss" in shown
    assert len(shown.splitlines()) >= 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["convnet", "gpt", "graph_network"])
def test_after_the_whole_training_the_answers_are_right(name: str) -> None:
    tt.manual_seed(0)
    model = made(program(name), name)
    program(name).train(model, {"convnet": 100, "gpt": 600, "graph_network": 60}[name])
    assert program(name).accuracy(model) > 0.95


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_losses_are_those_of_pytorch(name, monkeypatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch, "randn_like", torch.ones_like)  # numbers drawn at random differ
    monkeypatch.setattr(tt, "randn_like", tt.ones_like)
    torch_program = with_torch(name)
    torch.manual_seed(0)
    theirs = made(torch_program, name, **PROGRAMS[name]["dropout"])
    ours = made(program(name), name, **PROGRAMS[name]["dropout"])
    ours.load_state_dict({key: tt.from_numpy(value.numpy()) for key, value in theirs.state_dict().items()})
    expected = torch_program.train(theirs, 4)
    np.testing.assert_allclose(program(name).train(ours, 4), expected, rtol=2e-5)


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_porting_the_program_of_pytorch_gives_the_example(name: str) -> None:
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    original = re.sub(r"^(import|from) tt\b(?! as torch)", r"\1 torch", source, flags=re.MULTILINE)
    original = original.replace("import tt as torch\n", "import torch\n")
    ported = port(original)
    assert ported.text == source
    assert not ported.missing
