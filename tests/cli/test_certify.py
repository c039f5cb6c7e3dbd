"""`warpcert certify`: known verdicts, as text and as JSON."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.cli.conftest import Call
from warpcert import Status, Threat
from warpcert.cli.verdicts import VerdictsReport
from warpcert.run import Row

Refuse = Callable[..., str]
QUARTER = ("--delta", "0.25")


def strict(text: str) -> Any:
    """The value of a JSON document which has none of Python's own extensions."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


class Column(nn.Module):
    """Class 3 scores a constant, class 1 the mean of the second column, all others -1.

    In the step image that mean is 0, and at most a quarter when the image is bent by a quarter.
    """

    def __init__(self, constant: float, shape: tuple[int, ...] = (1, 4, 4), axis: int = 2) -> None:
        super().__init__()
        weight = torch.zeros((4, *shape))
        weight[1].narrow(axis, 1, 1).fill_(1.0)
        weight[1] /= weight[1].sum()
        self.linear = nn.Linear(weight[0].numel(), 4)
        self.linear.weight.data = weight.flatten(1)
        self.linear.bias.data = torch.tensor([-1.0, 0.0, -1.0, constant])

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.linear(x.flatten(1))
        return scores


def export(module: nn.Module, name: str, *shape: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls its own exporter old
        torch.onnx.export(module.eval(), (torch.zeros(1, *shape),), name, dynamo=False)


@pytest.fixture
def nets(files: Path) -> Path:
    export(Column(0.3), "sure.onnx", 1, 4, 4)
    export(Column(0.2), "unsure.onnx", 1, 4, 4)
    export(Column(-0.4), "wrong.onnx", 1, 4, 4)
    Path("cut.onnx").write_bytes(Path("sure.onnx").read_bytes()[:90])
    Path("text.onnx").write_text("no network at all")
    step = np.zeros((3, 4, 4), np.float32)
    step[:, :, 2:] = [[[1.0]], [[0.5]], [[0.0]]]
    np.savez("three.npz", images=step, labels=np.array([3, 3, 1]))
    return files


def test_a_network_that_is_sure(call: Call, nets: Path) -> None:
    answer = call("certify", "sure.onnx", "--images", "step.npz", *QUARTER, "--format", "json")
    assert (answer.code, answer.err) == (0, "")
    value = strict(answer.out)
    assert value["network"] == "sure.onnx"
    assert value["threat"] == {"norm": "inf", "delta": 0.25, "gamma": "inf", "border": "clamp"}
    assert (value["images"], value["correct"], value["certified"]) == (1, 1, 1)
    (each,) = value["each"]
    assert each["margin"] == pytest.approx(0.05, abs=1e-6)
    assert each["seconds"] > 0
    known = {k: each[k] for k in ("image", "label", "status", "rival", "method", "reason")}
    assert known == {
        "image": "step.npz",
        "label": 3,
        "status": "certified",
        "rival": 1,
        "method": "interval",
        "reason": "",
    }


def test_a_network_that_is_not(call: Call, nets: Path) -> None:
    words = ("--images", "step.npz", *QUARTER, "--method", "alpha", "--format", "json")
    answer = call("certify", "unsure.onnx", *words)
    assert answer.code == 0  # whatever the verdicts
    value = strict(answer.out)
    assert (value["images"], value["correct"], value["certified"]) == (1, 1, 0)
    (each,) = value["each"]
    assert each["status"] == "unknown" and each["method"] == "alpha"
    assert each["margin"] == pytest.approx(-0.05, abs=1e-6)
    assert each["reason"] == "the margin against class 1 is bounded by -0.05 only, not above 0"


def test_a_network_that_is_fooled(call: Call, nets: Path) -> None:
    answer = call("certify", "unsure.onnx", "--images", "step.npz", *QUARTER, "--format", "json")
    value = strict(answer.out)
    assert (value["images"], value["correct"], value["certified"]) == (1, 1, 0)
    (each,) = value["each"]
    assert each["status"] == "falsified" and "attack" in each["method"]
    assert -0.05 - 1e-6 <= each["margin"] < 0 and each["rival"] == 1


def test_programs_decide_as_well(call: Call, nets: Path) -> None:
    words = ("--images", "step.npz", *QUARTER, "--format", "json")
    for asked, status, method in (
        ("lp", "unknown", "lp"),
        ("krelu", "unknown", "krelu"),
        ("milp", "falsified", "attack"),
    ):
        (each,) = strict(call("certify", "unsure.onnx", *words, "--method", asked).out)["each"]
        assert (each["status"], each["method"]) == (status, method)


def test_solvers_are_for_programs(
    nets: Path, refusal: Refuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("certify", "sure.onnx", "--images", "step.npz", *QUARTER, "--solver", "scip")
    assert "is for --method lp and milp, got --method auto" in refusal(*words)
    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    assert 'pip install "warpcert[scip]"' in refusal(*words, "--method", "milp")


def test_what_rests_on_a_word_is_told_first() -> None:
    def row(status: Status, reason: str) -> Row:
        return Row("", 0, "", 0, math.inf, 0.3, 0.1, "clamp", status, 0.0, 1, "", 0.0, {}, reason)

    unknown, certified = Status.UNKNOWN, Status.CERTIFIED
    rows = [row(unknown, "late"), row(unknown, "gap"), row(unknown, "gap"), row(certified, "")]
    report = VerdictsReport("net", Threat("inf", 0.3, 0.1), [*rows, row(certified, "by word")], {})
    assert report.remarks == ["1 certified: by word", "2 unknown: gap", "1 unknown: late"]


def test_a_network_that_is_wrong(call: Call, nets: Path) -> None:
    value = strict(
        call("certify", "wrong.onnx", "--images", "step.npz", *QUARTER, "--format", "json").out
    )
    assert (value["images"], value["correct"], value["certified"]) == (1, 0, 0)
    (each,) = value["each"]
    assert each["status"] == "misclassified" and each["method"] == ""
    assert each["margin"] == pytest.approx(-0.4, abs=1e-6)


def test_the_text_says_the_same(call: Call, nets: Path) -> None:
    words = ("--images", "three.npz", *QUARTER, "--method", "alpha")
    answer = call("certify", "unsure.onnx", *words)
    assert (answer.code, answer.err) == (0, "")
    first, heading, *rows, why, last = answer.out.splitlines()
    assert first == "unsure.onnx: Tinf, delta 0.25, gamma inf"
    assert why == "1 unknown: the margin against class 1 is bounded by -0.05 only, not above 0"
    assert heading.split() == [
        "image",
        "class",
        "verdict",
        "margin",
        "against",
        "method",
        "seconds",
    ]
    assert [row.split()[:6] for row in rows] == [
        ["three.npz[0]", "3", "unknown", "-0.0500", "1", "alpha"],
        ["three.npz[1]", "3", "certified", "0.0750", "1", "alpha"],
        ["three.npz[2]", "1", "misclassified", "-0.2000", "3", "-"],
    ]
    assert last == "1 certified / 2 correct / 3 images"


@pytest.mark.parametrize("method", ["interval", "deeppoly", "alpha", "auto"])
def test_every_method(call: Call, nets: Path, method: str) -> None:
    words = ("--images", "step.npz", *QUARTER, "--method", method, "--format", "json")
    (each,) = strict(call("certify", "sure.onnx", *words).out)["each"]
    assert each["status"] == "certified"
    assert each["method"] == ("interval" if method == "auto" else method)


@pytest.mark.parametrize("relaxation", ["hull", "planes", "box"])
@pytest.mark.parametrize("norm", ["1", "2", "inf"])
def test_every_norm_and_relaxation(call: Call, nets: Path, norm: str, relaxation: str) -> None:
    words = ("--images", "step.npz", *QUARTER, "--norm", norm, "--relaxation", relaxation)
    (each,) = strict(call("certify", "sure.onnx", *words, "--format", "json").out)["each"]
    assert each["status"] == "certified" and each["margin"] == pytest.approx(0.05, abs=1e-6)


def test_smooth_fields(call: Call, nets: Path) -> None:
    """All of the second column can move alike, so gamma changes nothing here."""
    words = ("--images", "step.npz", *QUARTER, "--gamma", "0.05", "--border", "clamp")
    value = strict(call("certify", "sure.onnx", *words, "--format", "json").out)
    assert value["threat"]["gamma"] == 0.05
    assert value["certified"] == 1


def test_mean_and_deviation_come_first(call: Call, nets: Path) -> None:
    """(x - 0.5) / 0.5 of the second column is at most -0.5."""
    words = ("--images", "step.npz", *QUARTER, "--mean", "0.5", "--std", "0.5", "--format", "json")
    (each,) = strict(call("certify", "wrong.onnx", *words).out)["each"]
    assert each["status"] == "certified" and each["margin"] == pytest.approx(0.1, abs=1e-6)


def test_a_mean_for_each_channel(call: Call, nets: Path) -> None:
    """Channels 0 and 2 of the second column are 0, channel 1 is 0.5: the means take that away."""
    export(Column(0.3, (3, 4, 4)), "colour.onnx", 3, 4, 4)
    words = ("--images", "colour.npz", "--label", "3", "--delta", "0", "--format", "json")
    (plain,) = strict(call("certify", "colour.onnx", *words).out)["each"]
    assert plain["margin"] == pytest.approx(0.3 - 0.5 / 3, abs=1e-6)
    (each,) = strict(call("certify", "colour.onnx", *words, "--mean", "0,0.5,0").out)["each"]
    assert each["margin"] == pytest.approx(0.3, abs=1e-6)


def test_channels_last(call: Call, nets: Path, refusal: Refuse) -> None:
    export(Column(0.3, (4, 4, 3), axis=1), "last.onnx", 4, 4, 3)
    words = ("--images", "colour.npz", "--label", "3", "--delta", "0", "--format", "json")
    (each,) = strict(call("certify", "last.onnx", *words, "--layout", "nhwc").out)["each"]
    assert each["margin"] == pytest.approx(0.3 - 0.5 / 3, abs=1e-6)
    assert "the network takes images (B, 4, 4, 3)" in refusal("certify", "last.onnx", *words)


def test_a_flat_network_is_told_the_shape(call: Call, nets: Path, refusal: Refuse) -> None:
    export(Column(0.3), "flat.onnx", 16)
    words = ("--images", "step.npz", *QUARTER, "--format", "json")
    assert strict(call("certify", "flat.onnx", *words, "--shape", "1,4,4").out)["certified"] == 1
    assert "flat.onnx: the input is (batch, 16), not an image" in refusal(
        "certify", "flat.onnx", *words
    )


def test_images_with_a_label_of_their_own_keep_it(call: Call, nets: Path) -> None:
    words = ("--images", "step.npz", *QUARTER, "--label", "1", "--format", "json")
    (each,) = strict(call("certify", "sure.onnx", *words).out)["each"]
    assert each["label"] == 3


def test_a_margin_that_is_not_known_is_null(call: Call, nets: Path) -> None:
    class Huge(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = (1e30 * x.flatten(1)[:, :2]).square() * 1e30
            y = y.square().square()  # (1e90)^4 is more than float64 holds
            return torch.cat([-y, 1 - y], 1)

    export(Huge(), "huge.onnx", 1, 4, 4)
    np.savez("bright.npz", images=np.full((1, 4, 4), 0.5, np.float32), labels=np.array([3]))
    answer = call("certify", "huge.onnx", "--images", "bright.npz", *QUARTER, "--format", "json")
    assert answer.code == 0
    (each,) = strict(answer.out)["each"]
    assert each["status"] == "unknown" and each["margin"] is None and each["reason"]
    text = call("certify", "huge.onnx", "--images", "bright.npz", *QUARTER)
    assert text.code == 0 and "unknown" in text.out


WRONG = {
    "sure.onnx": "missing option '--images'",
    "--images step.npz": "missing argument 'NET' (see 'warpcert certify --help')",
    "nowhere.onnx --images step.npz": "nowhere.onnx",
    ". --images step.npz": "there is no file .",
    "cut.onnx --images step.npz": "cut.onnx",
    "text.onnx --images step.npz": "text.onnx",
    "step.npz --images step.npz": "step.npz",
    "sure.onnx --images nowhere.npz": "nowhere.npz does not exist",
    "sure.onnx --images cut.png": "cut.png cannot be read",
    "sure.onnx --images nan.npz": "NaN",
    "sure.onnx --images bytes.npz": "divide by 255",
    "sure.onnx --images mnist:0": "the network takes images (B, 1, 4, 4), got (1, 1, 28, 28)",
    "sure.onnx --images step.png": "step.png has no labels: give the class with --label K",
    "sure.onnx --images step.png --label 4": "labels must be 0 to 3, got 4",
    "sure.onnx --images step.png --label -1": "has no labels: give the class with --label K",
    "sure.onnx --images step.png --label cat": "'--label'",
    "sure.onnx --images step.npz --delta -1": "--delta must be a number >= 0, got -1",
    "sure.onnx --images step.npz --delta nan": "--delta must be a number >= 0, got nan",
    "sure.onnx --images step.npz --delta inf": "--delta must be finite",
    "sure.onnx --images step.npz --delta much": "--delta must be a number >= 0, got 'much'",
    "sure.onnx --images step.npz --gamma -0.1": "--gamma must be a number >= 0",
    "sure.onnx --images step.npz --norm 3": "'3' is not one of '1', '2', 'inf'",
    "sure.onnx --images step.npz --method crown": "'crown' is not one of 'auto', 'interval'",
    "sure.onnx --images step.npz --relaxation star": "'star' is not one of 'hull', 'planes', 'box'",
    "sure.onnx --images step.npz --layout hwc": "'hwc' is not one of 'nchw', 'nhwc'",
    "sure.onnx --images step.npz --mean x": "--mean must be numbers with commas between, got 'x'",
    "sure.onnx --images step.npz --mean 0.1,": "--mean must be numbers with commas between",
    "sure.onnx --images step.npz --mean 0.1,0.2": "mean",
    "sure.onnx --images step.npz --mean nan": "mean",
    "sure.onnx --images step.npz --std 0": "std must be positive",
    "sure.onnx --images step.npz --std -1": "std must be positive",
    "sure.onnx --images step.npz --std nan": "std",
    "sure.onnx --images step.npz --std inf": "std",
    "sure.onnx --images step.npz --shape 4,4": "--shape must be C,H,W such as 3,32,32, got '4,4'",
    "sure.onnx --images step.npz --shape 1,4,x": "--shape must be C,H,W",
    "sure.onnx --images step.npz --shape 0,4,4": "(C, H, W), got (0, 4, 4)",
    "sure.onnx --images step.npz --shape 1,4,5": "sure.onnx",
    "sure.onnx --images step.npz --device moon": "--device moon is not to be had here: try cpu",
    "sure.onnx --images step.npz --device cuda:99": "--device cuda:99 is not to be had here",
    "sure.onnx --images mnist:500": "download them where there is a network",
    "sure.onnx --images step.npz --epsilon 1": "no such option: --epsilon",
    "sure.onnx step.npz --images step.npz": "unexpected extra argument",
}


@pytest.mark.parametrize("words", WRONG)
def test_one_line_says_what_is_wrong(refusal: Refuse, nets: Path, words: str) -> None:
    assert WRONG[words] in refusal("certify", *words.split())


def test_an_operator_that_cannot_be_bounded_is_named(refusal: Refuse, nets: Path) -> None:
    class Sine(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.flatten(1)[:, :4].sin()

    export(Sine(), "sine.onnx", 1, 4, 4)
    line = refusal("certify", "sine.onnx", "--images", "step.npz")
    assert "sine.onnx" in line and "Sin" in line


def test_one_score_is_no_classifier(refusal: Refuse, nets: Path) -> None:
    export(nn.Sequential(nn.Flatten(), nn.Linear(16, 1)), "one.onnx", 1, 4, 4)
    line = refusal("certify", "one.onnx", "--images", "step.png", "--label", "0")
    assert "one score has no margins" in line


def test_help_names_every_option(call: Call) -> None:
    answer = call("certify", "--help")
    assert answer.code == 0
    for option in ("--images", "--norm", "--delta", "--gamma", "--border", "--method",
                   "--relaxation", "--label", "--mean", "--std", "--layout", "--shape",
                   "--device", "--format", "--data"):  # fmt: skip
        assert option in answer.out
    assert "warpcert certify net.onnx --images mnist:0-9" in answer.out
