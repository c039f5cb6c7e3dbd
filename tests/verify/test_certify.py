"""certify: verdicts that are known beforehand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

import warpcert as wc
from tests.verify.networks import SHAPE, brightness, deep, network, step_image
from warpcert import Bounds, Network, Status, Threat, Verdict
from warpcert.bound import Bounder
from warpcert.core.inputset import InputSet
from warpcert.verify import METHODS

QUARTER = Threat("inf", 0.25)
NAMES = ["interval", "deeppoly", "alpha", "complete", "auto"]


def one(*args: object, **options: object) -> Verdict:
    verdict = wc.certify(*args, **options)  # type: ignore[arg-type]
    assert isinstance(verdict, Verdict)
    return verdict


# Verdicts


@pytest.mark.parametrize("method", NAMES)
def test_the_threshold_between_certified_and_unknown(method: str) -> None:
    """The second column can reach 0.25 and no more."""
    verdict = one(brightness(0.26), step_image(), 0, QUARTER, method)
    assert verdict.status is Status.CERTIFIED and verdict.reason == ""
    assert verdict.margin == pytest.approx(0.01, abs=1e-6)
    assert (verdict.label, verdict.rival) == (0, 1)
    verdict = one(brightness(0.24), step_image(), 0, QUARTER, method)
    assert verdict.margin == pytest.approx(-0.01, abs=1e-6)
    if method in ("complete", "auto"):
        assert verdict.status is Status.FALSIFIED and verdict.method == "attack"
        assert verdict.field is not None and bool(QUARTER.contains(verdict.field[None]).all())
        bent = wc.warp(step_image()[None].double(), verdict.field[None])
        assert brightness(0.24)(bent).argmax() == verdict.rival == 1
        return
    assert verdict.status is Status.UNKNOWN
    assert verdict.reason == "the margin against class 1 is bounded by -0.01 only, not above 0"


@pytest.mark.parametrize("method", NAMES)
def test_a_tie_is_not_certified(method: str) -> None:
    """At the threshold itself some bent image has both scores alike."""
    assert one(brightness(0.25), step_image(), 0, QUARTER, method).status is Status.UNKNOWN


@pytest.mark.parametrize("method", NAMES)
def test_misclassified(method: str) -> None:
    verdict = one(brightness(0.5), step_image(), 1, QUARTER, method)
    assert verdict.status is Status.MISCLASSIFIED
    assert verdict.margin == pytest.approx(-0.5) and verdict.rival == 0
    assert verdict.method == "" and verdict.reason == ""


def test_equal_scores_are_misclassified() -> None:
    assert one(brightness(0.0), step_image(), 0, QUARTER).status is Status.MISCLASSIFIED


@pytest.mark.parametrize(("label", "rival"), [(0, 1), (1, 0), (2, 1)])
def test_the_rival_is_the_class_that_is_nearest(label: int, rival: int) -> None:
    bias = torch.tensor([0.0, 0.5, -3.0], dtype=torch.float64)
    bias[label] = 2.0
    found = one(
        network(torch.zeros((3, 16), dtype=torch.float64), bias), step_image(), label, QUARTER
    )
    others = {k: float(bias[k]) for k in range(3) if k != label}
    assert found.rival == max(others, key=others.__getitem__) == rival
    assert found.margin == pytest.approx(2.0 - max(others.values()))


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_no_bending_leaves_the_image(classes: int) -> None:
    verdict = one(brightness(0.1, classes), step_image(), 0, Threat("inf", 0.0))
    assert verdict.status is Status.CERTIFIED
    assert verdict.margin == pytest.approx(0.1, abs=1e-12)


# Batches


def test_a_batch_gives_a_list_in_its_order() -> None:
    images = torch.stack([step_image(), step_image(1.0, 0.0), step_image(), step_image(0.0, 0.2)])
    labels = torch.tensor([0, 1, 1, 0])
    verdicts = wc.certify(brightness(0.2), images, labels, QUARTER)
    assert isinstance(verdicts, list)
    assert [v.status.value for v in verdicts] == [
        "falsified", "certified", "misclassified", "certified"
    ]  # fmt: skip
    assert [v.label for v in verdicts] == labels.tolist()
    for image, label, verdict in zip(images, labels.tolist(), verdicts, strict=True):
        alone = one(brightness(0.2), image, label, QUARTER)
        assert (alone.status, alone.rival, alone.method) == (
            verdict.status, verdict.rival, verdict.method
        )  # fmt: skip
        assert alone.margin == pytest.approx(verdict.margin, abs=1e-9)


def test_a_batch_of_one_is_a_list() -> None:
    verdicts = wc.certify(brightness(0.3), step_image()[None], torch.tensor([0]), QUARTER)
    assert isinstance(verdicts, list) and len(verdicts) == 1


@pytest.mark.parametrize("label", [torch.tensor(0), torch.tensor([0]), 0])
def test_the_label_of_one_image_may_be_a_tensor(label: Tensor | int) -> None:
    assert one(brightness(0.3), step_image(), label, QUARTER).status is Status.CERTIFIED


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64])
def test_labels_of_any_whole_type(dtype: torch.dtype) -> None:
    labels = torch.tensor([0, 1], dtype=dtype)
    images = torch.stack([step_image(), step_image(1.0, 0.0)])
    verdicts = wc.certify(brightness(0.3), images, labels, QUARTER)
    assert isinstance(verdicts, list)
    assert [v.status.value for v in verdicts] == ["certified", "certified"]


@pytest.mark.parametrize("method", NAMES)
def test_gradients_may_be_on_or_off(method: str) -> None:
    """Images that require them, and a caller that has switched them off."""
    bent = deep(([[1.0, -1.0], [-1.0, 1.0]], [0.7, 0.0]), ([[1.0, 1.0], [1.0, -1.0]], [-1.2, 0.0]))
    image = step_image()
    wanted = one(bent, image, 0, QUARTER, method)
    assert wanted.status is (Status.FALSIFIED if method in ("complete", "auto") else Status.UNKNOWN)
    for off in (torch.no_grad, torch.inference_mode):
        with off():
            found = one(bent, image, 0, QUARTER, method)
        assert found.margin == pytest.approx(wanted.margin, abs=1e-9)
    found = one(bent, image.requires_grad_(), 0, QUARTER, method)
    assert found.margin == pytest.approx(wanted.margin, abs=1e-9)


def test_many_images_in_small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    images = torch.rand((9, *SHAPE), generator=generator)
    labels = torch.arange(9) % 2
    together = wc.certify(brightness(0.5), images, labels, QUARTER)
    monkeypatch.setattr("warpcert.core.memory.free_bytes", lambda device: 1)
    apart = wc.certify(brightness(0.5), images, labels, QUARTER)
    assert isinstance(together, list) and isinstance(apart, list)
    for one_, other in zip(together, apart, strict=True):
        assert one_.status is other.status and one_.rival == other.rival
        assert one_.margin == pytest.approx(other.margin, abs=1e-9)


# Methods


def test_auto_uses_the_cheapest_that_proves() -> None:
    """Columns 2 and 3 of the step are at most 0.25 and at least 0.75."""
    apart = deep(([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[0.0, 1.0], [1.0, 0.0]], [0.0, 0.0]))
    verdict = one(apart, step_image(), 0, QUARTER)
    assert verdict.status is Status.CERTIFIED and verdict.method == "interval"
    # x - x for one pixel, behind a ReLU that is on: only substitution knows that it is zero.
    same = deep(([[1.0, 0.0], [1.0, 0.0]], [1.0, 1.0]), ([[1.0, -1.0], [0.0, 0.0]], [0.1, 0.0]))
    verdict = one(same, step_image(), 0, QUARTER)
    assert verdict.status is Status.CERTIFIED and verdict.method == "deeppoly"
    assert verdict.margin == pytest.approx(0.1, abs=1e-9)
    assert one(same, step_image(), 0, QUARTER, "interval").status is Status.UNKNOWN


def test_auto_ends_with_the_tightest() -> None:
    """A tie is neither proved nor refuted."""
    verdict = one(brightness(0.25), step_image(), 0, QUARTER)
    assert verdict.status is Status.UNKNOWN and verdict.method == "complete"
    assert verdict.margin <= 0 <= verdict.reached + 1e-9 and verdict.gap < 1e-6
    assert list(verdict.spent) == ["interval", "attack", "deeppoly", "complete"]
    assert verdict.seconds == pytest.approx(sum(verdict.spent.values()))


def test_auto_is_no_worse_than_each() -> None:
    generator = torch.Generator().manual_seed(3)
    weights = torch.randn((3, 4, 2), generator=generator, dtype=torch.float64)
    tail = torch.randn((2, 4), generator=generator, dtype=torch.float64)
    nets = [deep((w.tolist(), [0.1, -0.1, 0.2, 0.0]), (tail.tolist(), [0.0, 0.0])) for w in weights]
    for net in nets:
        image = step_image(0.2, 0.9)
        label = int(net(image[None].double()).argmax())
        margins = {name: one(net, image, label, QUARTER, name).margin for name in NAMES}
        assert margins["interval"] <= margins["deeppoly"] + 1e-12
        assert margins["deeppoly"] <= margins["alpha"] + 1e-12
        if margins["auto"] <= 0:
            assert margins["auto"] >= margins["deeppoly"] - 1e-12


def test_only_what_is_still_open_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    class Counting(Bounder):
        def __init__(self, name: str, wrapped: Bounder) -> None:
            self.name, self.wrapped = name, wrapped

        def bound(
            self, network: Network, inputs: InputSet, rows: Tensor, warm: Bounds | None
        ) -> Bounds:
            asked.append((self.name, len(rows)))
            return self.wrapped(network, inputs, rows, warm)

    counting = {name: Counting(name, method) for name, method in METHODS.items()}
    monkeypatch.setattr("warpcert.verify.methods.METHODS", counting)
    images = torch.stack([step_image(), step_image(0.0, 0.1), step_image(1.0, 1.0)])
    wc.certify(brightness(0.25), images, torch.tensor([0, 0, 0]), QUARTER)
    # The third image is misclassified, the second certified by intervals.
    assert asked == [("interval", 2), ("deeppoly", 1)]


def test_bounds_are_handed_to_the_images_they_belong_to() -> None:
    """What is left open comes from the middle of the batch; a mix-up would contradict itself."""
    generator = torch.Generator().manual_seed(4)
    images = torch.rand((12, *SHAPE), generator=generator)
    weight = torch.randn((6, 2), generator=generator, dtype=torch.float64) * 2
    middle = torch.randn((6, 6), generator=generator, dtype=torch.float64)
    tail = torch.randn((2, 6), generator=generator, dtype=torch.float64)
    net = deep(
        (weight.tolist(), [0.3] * 6), (middle.tolist(), [0.0] * 6), (tail.tolist(), [0.0, 0.0])
    )
    labels = net(images.double()).argmax(1)
    together = wc.certify(net, images, labels, QUARTER)
    assert isinstance(together, list)
    assert {v.method for v in together} >= {"interval", "deeppoly", "complete"}
    for image, label, verdict in zip(images, labels.tolist(), together, strict=True):
        alone = one(net, image, label, QUARTER)
        assert alone.status is verdict.status
        assert alone.margin == pytest.approx(verdict.margin, abs=1e-3)


def test_seconds_are_an_images_share() -> None:
    verdict = one(brightness(0.3), step_image(), 0, QUARTER)
    assert 0 < verdict.seconds < 60


@pytest.mark.parametrize("relaxation", ["hull", "box"])
def test_relaxations(relaxation: str) -> None:
    found = one(brightness(0.26), step_image(), 0, QUARTER, relaxation=relaxation)
    assert found.status is Status.CERTIFIED


def test_only_deeppoly_can_do_without_intervals() -> None:
    found = one(brightness(0.26), step_image(), 0, QUARTER, "deeppoly", intersect=False)
    assert found.status is Status.CERTIFIED
    with pytest.raises(ValueError, match="intersect=False is for the method 'deeppoly'"):
        one(brightness(0.26), step_image(), 0, QUARTER, "alpha", intersect=False)


# Bounds that are no numbers


class Claims(Bounder):
    """A bounder that says what it is told to."""

    def __init__(self, margin: float) -> None:
        self.margin = margin

    def bound(
        self, network: Network, inputs: InputSet, rows: Tensor, warm: Bounds | None
    ) -> Bounds:
        return Bounds({}, torch.full(rows.shape[:2], self.margin, dtype=torch.float64))


@pytest.mark.parametrize("claim", [math.nan, -math.inf, 0.0, -0.0, -1e-300])
def test_only_a_margin_above_zero_certifies(claim: float, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = {name: Claims(claim) for name in METHODS}
    monkeypatch.setattr("warpcert.verify.methods.METHODS", claims)
    for method in METHODS:
        verdict = one(brightness(0.3), step_image(), 0, QUARTER, method)
        assert verdict.status is Status.UNKNOWN and verdict.reason
        assert not math.isnan(verdict.margin) and verdict.margin <= 0


def test_one_margin_of_many_is_enough_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mixed(Claims):
        def bound(
            self, network: Network, inputs: InputSet, rows: Tensor, warm: Bounds | None
        ) -> Bounds:
            found = super().bound(network, inputs, rows, warm).margins
            found[:, 1] = self.margin
            found[:, 0], found[:, 2:] = 1.0, 2.0
            return Bounds({}, found)

    for claim in (math.nan, 0.0, -1.0):
        claims = {name: Mixed(claim) for name in METHODS}
        monkeypatch.setattr("warpcert.verify.methods.METHODS", claims)
        verdict = one(brightness(0.3, 5), step_image(), 0, QUARTER, "deeppoly")
        assert verdict.status is Status.UNKNOWN and verdict.rival == 2


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("method", NAMES)
def test_a_network_that_computes_no_numbers_is_never_certified(method: str, number: float) -> None:
    weight = torch.ones((2, 16), dtype=torch.float64)
    weight[1, 3] = number
    verdict = one(network(weight, None), step_image(0.5, 0.7), 0, QUARTER, method)
    assert verdict.status in (Status.UNKNOWN, Status.MISCLASSIFIED)


def test_scores_that_overflow_are_never_certified() -> None:
    huge = deep(
        ([[1e200, 0.0], [0.0, 1e200]], [0.0, 0.0]), ([[0.0, 1e200], [1e200, 0.0]], [0.0, 0.0])
    )
    verdict = one(huge, step_image(0.1, 0.9), 0, QUARTER)
    assert verdict.status is Status.UNKNOWN and "\n" not in verdict.reason


# The L-inf threat goes the same way


def test_a_box_of_images_is_bounded_by_the_same_methods() -> None:
    image = step_image().double()[None]
    box = wc.Box(wc.Interval((image - 0.1).clamp(min=0), (image + 0.1).clamp(max=1)))
    rows = torch.tensor([[[1.0, -1.0]]], dtype=torch.float64)
    for method in METHODS.values():
        margins = method(brightness(0.3), box, rows).margins
        assert margins.item() == pytest.approx(0.2, abs=1e-9)


# Misuse


WRONG = {
    "a label out of range": (lambda: (step_image(), 2), "labels must be 0 to 1, got 2"),
    "a negative label": (lambda: (step_image(), -1), "labels must be 0 to 1, got -1"),
    "a batch with one label": (
        lambda: (torch.stack([step_image()] * 2), 0),
        "a batch of images needs a tensor of labels, got 0",
    ),
    "too few labels": (
        lambda: (torch.stack([step_image()] * 2), torch.tensor([0])),
        r"labels must be \(2,\), got \(1,\)",
    ),
    "labels with an axis": (
        lambda: (torch.stack([step_image()] * 2), torch.zeros((2, 1), dtype=torch.int64)),
        r"labels must be \(2,\), got \(2, 1\)",
    ),
    "labels that are floats": (
        lambda: (step_image()[None], torch.tensor([0.0])),
        "labels must be a tensor of whole numbers",
    ),
    "labels in a list": (
        lambda: (step_image()[None], [0]),
        r"labels must be a whole number or a tensor of them, got \[0\]",
    ),
    "one label in a list": (lambda: (step_image(), [0]), r"labels must be a whole .* got \[0\]"),
    "one label that is a float": (lambda: (step_image(), 0.0), "labels must be a whole .* got 0.0"),
    "one label in words": (lambda: (step_image(), "0"), "labels must be a whole .* got '0'"),
    "one label that is true": (lambda: (step_image(), True), "labels must be a whole .* got True"),
    "two labels for one image": (
        lambda: (step_image(), torch.tensor([0, 1])),
        "one image needs one label, got 2",
    ),
    "no label": (lambda: (step_image(), None), "labels must be a whole .* got None"),
    "bytes": (
        lambda: (torch.zeros(SHAPE, dtype=torch.uint8), 0),
        "images must be float32 or float64, got uint8: divide by 255 first",
    ),
    "values up to 255": (lambda: (255 * step_image(), 0), "divide by 255 first"),
    "a NaN": (lambda: (step_image() * math.nan, 0), "images must be finite"),
    "an array": (
        lambda: (step_image().numpy(), torch.tensor([0])),
        "images must be a torch tensor, got ndarray",
    ),
    "another size": (
        lambda: (torch.zeros(1, 5, 4), 0),
        r"the network takes images \(B, 1, 4, 4\), got \(1, 1, 5, 4\)",
    ),
    "another number of channels": (lambda: (torch.zeros(3, 4, 4), 0), "the network takes images"),
    "two axes": (lambda: (torch.zeros(4, 4), torch.tensor([0])), "images must have the shape"),
    "nothing": (
        lambda: (torch.zeros(0, *SHAPE), torch.zeros(0, dtype=torch.int64)),
        "images must not be empty",
    ),
}


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize("name", WRONG)
def test_misuse_is_told_in_one_line(name: str) -> None:
    make, words = WRONG[name]
    with pytest.raises(ValueError, match=words) as caught:
        wc.certify(brightness(0.3), *make(), QUARTER)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"method": "crown"},
            "method must be one of .*auto.*, got 'crown'",
        ),
        ({"method": ""}, "method must be one of"),
        ({"relaxation": "zonotope"}, "relaxation must be 'hull', 'planes' or 'box'"),
    ],
)
def test_unknown_names_are_told_in_one_line(options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        wc.certify(brightness(0.3), step_image(), 0, QUARTER, **options)
    assert "\n" not in str(caught.value)


def test_a_network_with_one_score_has_no_margins() -> None:
    weight = torch.ones((1, 16), dtype=torch.float64)
    with pytest.raises(ValueError, match="one score has no margins"):
        wc.certify(network(weight, None), step_image(), 0, QUARTER)
