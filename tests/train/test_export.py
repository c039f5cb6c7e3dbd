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
