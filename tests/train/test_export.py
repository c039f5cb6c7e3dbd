"""An exported network computes what the module computes."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import warpcert as wc
from warpcert.core import Unsupported
from warpcert.train import ARCHITECTURES, build, save_weights
from warpcert.train.export import export, main

CIFAR = (3, 32, 32)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_export_agrees(name, tmp_path):
    module = build(name, CIFAR)
    images = torch.rand(4, *CIFAR)
    module.get_buffer("0.mean").fill_(0.4)
    module.get_buffer("0.std").fill_(0.3)
    module(images)
    module.eval()
    save_weights(module, tmp_path / "weights.npz")
    out = tmp_path / "network.onnx"
    assert main([str(tmp_path / "weights.npz"), name, "cifar10", str(out)]) == 0
    network = wc.load_network(out)
    torch.testing.assert_close(network(images.double()), module.double()(images.double()))


@pytest.mark.parametrize("name", ["ConvSmall", "ResNet"])
def test_rounded_weights_are_the_network(name, tmp_path):
    """Ours, theirs and the rounded module agree; the other numbers are kept as they are."""
    onnxruntime = pytest.importorskip("onnxruntime")
    module = build(name, CIFAR)
    images = torch.rand(4, *CIFAR)
    module.get_buffer("0.mean").fill_(0.4)
    module(images)
    module.eval()
    export(module, CIFAR, tmp_path / "whole.onnx")
    export(module, CIFAR, tmp_path / "half.onnx", half=True)
    whole, half = ((tmp_path / f"{size}.onnx").stat().st_size for size in ("whole", "half"))
    assert half < 0.52 * whole + 2000
    with torch.no_grad():
        exact = module(images)
        for part in module.modules():
            if isinstance(part, nn.Conv2d | nn.Linear):
                part.weight.copy_(part.weight.half().float())
        rounded = module(images)
    network = wc.load_network(tmp_path / "half.onnx")
    torch.testing.assert_close(network(images.double()), module.double()(images.double()))
    session = onnxruntime.InferenceSession(tmp_path / "half.onnx")
    (found,) = session.run(None, {"images": images.numpy()})
    torch.testing.assert_close(torch.from_numpy(found), rounded, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(exact, rounded, rtol=0, atol=1e-7)


def test_weights_beyond_float16_are_refused(tmp_path):
    layer = nn.Linear(2, 2)
    nn.init.constant_(layer.weight, 1e6)
    module = nn.Sequential(nn.Flatten(), layer).eval()
    with pytest.raises(ValueError, match="too large for float16"):
        export(module, (1, 1, 2), tmp_path / "x.onnx", half=True)
    assert not list(tmp_path.iterdir())


def test_wrong_use(tmp_path, capsys):
    weights = str(tmp_path / "weights.npz")
    for words in (["one"], [weights, "ConvSmall", "mars", "x"], [weights, "Conv", "mnist", "x"]):
        assert main(words) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert main([weights, "ConvSmall", "mnist", "x"]) == 2
    assert "not a readable weight file" in capsys.readouterr().err


def test_what_has_no_form_is_refused(tmp_path):
    with pytest.raises(Unsupported, match="Sigmoid"):
        export(nn.Sigmoid().eval(), CIFAR, tmp_path / "x.onnx")
    with pytest.raises(ValueError, match="training mode"):
        export(nn.ReLU(), CIFAR, tmp_path / "x.onnx")
