"""`tt.port`: which texts it changes, and which names it finds missing."""

from __future__ import annotations

import pytest

from tt.port import Missing, port


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch", "import tt as torch"),
        ("import torch as th", "import tt as th"),
        ("import os, torch, sys", "import os, tt as torch, sys"),
        ("import torch.nn as nn", "import tt.nn as nn"),
        ("import torch.nn.functional", "import tt as torch, tt.nn.functional"),
        ("import torch, torch.nn", "import tt as torch, tt.nn"),
        ("from torch import nn, zeros as z", "from tt import nn, zeros as z"),
        (
            "from torch.nn import (\n    Linear,\n    ReLU,\n)",
            "from tt.nn import (\n    Linear,\n    ReLU,\n)",
        ),
        ("if True:\n    import torch  # torch", "if True:\n    import tt as torch  # torch"),
        ("from \\\n  torch.nn import Linear", "from \\\n  tt.nn import Linear"),
        ("x = 'ü'; import torch; y = 1", "x = 'ü'; import tt as torch; y = 1"),
        ("import torchvision", "import torchvision"),
        ("from .torch import x", "from .torch import x"),
        ("print('import torch')", "print('import torch')"),
        ("import torch\r\nx = 1\r\n", "import tt as torch\r\nx = 1\r\n"),
    ],
)
def test_import_statements_alone_are_changed(before, after):
    assert port(before).text == after


def test_a_changed_program_runs():
    names: dict[str, object] = {}
    source = "import torch\nimport torch.nn as nn\nfrom torch import Tensor\nx = nn.Linear(2, 1)(torch.zeros(3, 2))"
    exec(port(source).text, names)
    assert tuple(names["x"].shape) == (3, 1)  # type: ignore[attr-defined]


def test_names_that_are_missing_are_found_once_with_their_first_line_and_a_hint():
    found = port("import torch\nfrom torch.nn import Linaer\nx = torch.lienar\ny = torch.lienar\n").missing
    assert found == (
        Missing(2, "torch.nn.Linaer", found[0].instead),
        Missing(3, "torch.lienar", found[1].instead),
    )
    assert "tt.nn.Linear" in found[0].instead


def test_names_that_are_there_are_not_missing():
    source = (
        "import torch\nimport torch.nn.functional as F\nimport torch.backends.cudnn as cudnn\n"
        "cudnn.benchmark = True\nx = torch.nn.functional.relu(torch.zeros(1)).sum().item\nF.relu\ntorch.float32\n"
        "with torch.autocast('cpu', enabled=False): pass\ntorch.cuda.is_available()\n"
    )
    assert port(source).missing == ()


def test_names_that_only_raise_count_as_missing():
    assert [entry.name for entry in port("import torch\nm = torch.compile(f)\n").missing] == ["torch.compile"]


def test_other_variables_of_the_name_are_not_taken_for_it():
    assert port("torch = make()\ntorch.anything\n").missing == ()


def test_what_is_no_program_is_refused():
    with pytest.raises(SyntaxError):
        port("import torch as\n")
