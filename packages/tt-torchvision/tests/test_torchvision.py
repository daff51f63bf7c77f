"""torchvision and torchaudio themselves, under the facade, where they are installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from textwrap import dedent

import pytest

needs_torchvision = pytest.mark.skipif(
    find_spec("torchvision") is None, reason="torchvision is not installed"
)
needs_torchaudio = pytest.mark.skipif(find_spec("torchaudio") is None, reason="torchaudio is not installed")


def run(program, tmp_path):
    """Run a program in which `import torch` gives tt; its assertions are the test."""
    file = tmp_path / "program.py"
    file.write_text(dedent(program))
    done = subprocess.run(
        [sys.executable, "-m", "tt.as_torch", str(file)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_torchvision
def test_torchvision_finds_the_operators_and_their_gradients(tmp_path):
    run(
        """
        import torch
        import torchvision
        from torchvision import ops
        from torchvision.extension import _assert_has_ops, _has_ops

        assert _has_ops()
        _assert_has_ops()
        boxes = torch.tensor([[0.0, 0, 4, 4], [0, 0, 4, 3], [9, 9, 12, 12]])
        assert ops.nms(boxes, torch.tensor([0.1, 0.2, 0.3]), 0.5).tolist() == [2, 1]
        images, rois = torch.rand(1, 4, 16, 16, requires_grad=True), [boxes]
        for pool in (ops.RoIAlign(2, 1.0, 2), ops.RoIPool(2, 1.0), ops.PSRoIAlign(2, 1.0, 2), ops.PSRoIPool(2, 1.0)):
            (gradient,) = torch.autograd.grad(pool(images, rois).sum(), images)
            assert gradient.abs().sum() > 0, pool
        convolution = ops.DeformConv2d(4, 2, 3, padding=1)
        shifts = torch.zeros(1, 18, 16, 16, requires_grad=True)
        result = convolution(images, shifts)
        expected = torch.nn.functional.conv2d(images, convolution.weight, convolution.bias, padding=1)
        assert torch.allclose(result, expected, atol=1e-5)
        result.square().sum().backward()
        assert shifts.grad.abs().sum() > 0
        with torch.autocast("cpu", dtype=torch.bfloat16):
            half = images.detach().bfloat16()
            assert ops.roi_align(half, [boxes.bfloat16()], 2).dtype is torch.bfloat16
        """,
        tmp_path,
    )


@needs_torchvision
def test_files_and_drawings(tmp_path):
    run(
        """
        import torch
        from torchvision.io import ImageReadMode, decode_image, encode_jpeg, read_image, write_png
        from torchvision.utils import draw_bounding_boxes, make_grid, save_image

        image = torch.randint(0, 256, (3, 20, 30), dtype=torch.uint8)
        write_png(image, "a.png")
        assert torch.equal(read_image("a.png"), image)
        assert decode_image(encode_jpeg(image), ImageReadMode.GRAY).shape == (1, 20, 30)
        save_image(torch.rand(5, 3, 8, 8), "grid.png", nrow=3)
        assert read_image("grid.png").shape == make_grid(torch.rand(5, 3, 8, 8), nrow=3).shape
        drawn = draw_bounding_boxes(image, torch.tensor([[2, 2, 10, 12]]), colors="red")
        assert drawn[:, 2, 2].tolist() == [255, 0, 0]
        """,
        tmp_path,
    )


@needs_torchvision
def test_a_detector_infers_and_learns(tmp_path):
    run(
        """
        import torch
        from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn

        torch.manual_seed(0)
        model = fasterrcnn_mobilenet_v3_large_320_fpn(
            weights=None, weights_backbone=None, num_classes=3, box_score_thresh=0.0, min_size=96, max_size=128
        )
        images = [torch.rand(3, 96, 128)]
        target = {"boxes": torch.tensor([[8.0, 8, 60, 70]]), "labels": torch.tensor([1])}
        optimizer = torch.optim.SGD(model.parameters(), lr=0.002)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = sum(model(images, [target]).values())
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < losses[0], losses
        torch.save(model.state_dict(), "weights.pt")
        model.eval().load_state_dict(torch.load("weights.pt"))
        with torch.no_grad():
            (result,) = model(images)
        assert result["boxes"].shape == (len(result["scores"]), 4) and len(result["scores"]) > 0
        """,
        tmp_path,
    )


@needs_torchaudio
def test_filters_of_torchaudio_are_those_of_its_python_loops(tmp_path):
    run(
        """
        import torch
        import torchaudio.functional as F
        from torchaudio.functional import filtering

        assert filtering._lfilter_core_loop is not filtering._lfilter_core_generic_loop
        torch.manual_seed(0)
        waveform = torch.rand(2, 60, dtype=torch.float64) - 0.5

        a = torch.tensor([1.0, -0.4, 0.1], dtype=torch.float64, requires_grad=True)
        b = torch.tensor([0.3, 0.2, 0.1], dtype=torch.float64, requires_grad=True)

        def filtered(x, a, b):
            return F.lfilter(x, a, b, clamp=False)

        assert torch.autograd.gradcheck(filtered, (waveform.clone().requires_grad_(), a, b), fast_mode=True)
        with torch.no_grad():
            compiled = filtered(waveform, a, b), F.overdrive(waveform, 15, 5)
            filtering._lfilter_core_loop = filtering._lfilter_core_generic_loop
            filtering._overdrive_core_loop_cpu = filtering._overdrive_core_loop_generic
            assert torch.allclose(compiled[0], filtered(waveform, a, b), atol=1e-12)
            assert torch.allclose(compiled[1], F.overdrive(waveform, 15, 5), atol=1e-12)
        """,
        tmp_path,
    )
