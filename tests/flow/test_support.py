"""support and DeformedImage: the exact minimum of <row, bent image>, all channels together."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.contract.input_set import Case, Enclosure, InputSetContract, inner
from tests.flow.agree import NORMS, Border, cut
from tests.flow.pictures import draw, picture
from tests.oracle import joint_minimum
from warpcert import Box, DeformedImage, Threat, pixel_bounds, pixel_planes, support, warp

DOUBLE = torch.float64


def exactly(images: Tensor, threat: Threat, rows: Tensor) -> list[list[Enclosure]]:
    """The sum over pixels of the least combined value: exact when pixels are independent."""
    height, width = images.shape[2:]
    region = threat.region((height, width))
    answers: list[list[Enclosure]] = []
    for image, some in zip(images.numpy(), rows.detach().numpy(), strict=True):
        answers.append([])
        for row in some:
            parts = [
                joint_minimum(
                    image, row[:, i, j], i, j, threat.norm, threat.delta, cut(region, i, j)
                )
                for i, j in itertools.product(range(height), range(width))
            ]
            low, high = (sum(ends, Fraction(0)) for ends in zip(*parts, strict=True))
            answers[-1].append((low, high))
    return answers


def by_members(images: Tensor, fields: Tensor, rows: Tensor) -> list[list[Enclosure]]:
    """The least value of some members, with the rounding of the sum: from above only."""
    size = rows.to(DOUBLE).abs().sum((2, 3, 4))
    values = torch.stack([inner(rows.to(DOUBLE), warp(images, f[None])) for f in fields]).amin(0)
    values = values + 1e-13 * size
    return [[(Fraction(x), Fraction(x)) for x in some] for some in values.tolist()]


THREATS = [
    *(Threat(norm, delta) for norm in NORMS for delta in (0.4, 1.3)),
    *(Threat(norm, 0.9, border="inside") for norm in NORMS),
    Threat(2.0, 0.0),
    Threat(1.0, 1.0, 0.3),
    Threat(2.0, 0.7, 0.0),
    Threat(math.inf, 0.7, 0.1, "inside"),
]


class TestDeformedImage(InputSetContract):
    @pytest.fixture(params=THREATS, ids=str)
    def case(self, request: pytest.FixtureRequest) -> Case:
        threat: Threat = request.param
        images = picture("random", 3, 2, 3, batch=2)
        members = threat.sample((2, 3), 40, generator=draw(0))
        others = torch.randn((4, 2, 2, 3, 2), dtype=DOUBLE, generator=draw(1))
        parameters = [*others, *members[:, None].expand(-1, 2, -1, -1, -1)]
        made = DeformedImage(images, threat)
        if threat.gamma == math.inf:
            return Case(made, parameters, lambda rows: exactly(images, threat, rows))
        return Case(made, parameters, lambda rows: by_members(images, members, rows), exact=False)


# Against the reference


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", [0.3, 0.5, 1.0, math.sqrt(2), 2.3])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_equal_to_the_sum_of_joint_minima(
    norm: float, delta: float, channels: int, border: Border
) -> None:
    kind = ("random", "quantised", "binary", "real")[round(10 * delta) % 4]
    images = picture(kind, channels, 3, 2, seed=round(10 * delta))
    rows = torch.randn((1, 2, channels, 3, 2), dtype=DOUBLE, generator=draw(5))
    rows[0, 1] *= torch.tensor([1e-8, 1e8]).to(DOUBLE)
    threat = Threat(norm, delta, border=border)
    bounds = support(images, threat, rows)
    for bound, row, (low, high) in zip(
        bounds[0].tolist(), rows[0], exactly(images, threat, rows)[0], strict=True
    ):
        assert Fraction(bound) <= high
        assert low - Fraction(bound) <= Fraction(1e-9 * float(row.abs().sum()))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", [0.5, 1.7])
def test_one_channel_is_its_box(norm: float, delta: float) -> None:
    images, threat = picture("random", 1, 5, 6, batch=2), Threat(norm, delta)
    rows = torch.randn((2, 4, 1, 5, 6), dtype=DOUBLE, generator=draw(0))
    torch.testing.assert_close(
        support(images, threat, rows),
        Box(pixel_bounds(images, threat)).minimise(rows).bound,
        rtol=1e-11,
        atol=1e-11,
    )


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", ["random", "real"])
def test_three_channels_are_tighter_than_their_box(norm: float, kind: str) -> None:
    images, threat = picture(kind, 3, 8, 8), Threat(norm, 0.7)
    rows = torch.randn((1, 6, 3, 8, 8), dtype=DOUBLE, generator=draw(0))
    gain = support(images, threat, rows) - Box(pixel_bounds(images, threat)).minimise(rows).bound
    assert bool((gain > -1e-11).all())
    assert bool((gain > 0.05).all())


def test_channels_that_cancel_cannot_be_used_apart() -> None:
    # The same picture twice: its difference with itself is zero, however it is bent.
    one = picture("random", 1, 4, 4)
    rows = torch.ones((1, 1, 2, 4, 4), dtype=DOUBLE)
    rows[:, :, 1] = -1
    for norm in NORMS:
        bound = support(torch.cat([one, one], dim=1), Threat(norm, 1.2), rows)
        assert bound.item() == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("gamma", [0.0, 0.2, math.inf])
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_no_member_is_below(norm: float, gamma: float, border: Border) -> None:
    images, threat = picture("real", 3, 6, 7), Threat(norm, 1.1, gamma, border)
    rows = torch.randn((1, 8, 3, 6, 7), dtype=DOUBLE, generator=draw(0))
    fields = threat.sample((6, 7), 100, generator=draw(1))
    values = torch.einsum("rchw,nchw->rn", rows[0], warp(images, fields))
    bounds = support(images, threat, rows)[0]
    assert bool((bounds[:, None] <= values + 1e-12).all())


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_a_finite_gamma_is_never_below_none(norm: float, border: Border) -> None:
    images = picture("random", 2, 4, 5)
    rows = torch.randn((1, 3, 2, 4, 5), dtype=DOUBLE, generator=draw(0))
    free = support(images, Threat(norm, 0.8, border=border), rows)
    held = support(images, Threat(norm, 0.8, 0.1, border), rows)
    assert bool((held >= free - 1e-11).all())


# The minimiser


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", [0.5, 1.6])
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_the_gradient_is_the_minimising_bent_image(
    norm: float, delta: float, border: Border
) -> None:
    images, threat = picture("quantised", 3, 5, 4), Threat(norm, delta, border=border)
    rows = torch.randn((1, 3, 3, 5, 4), dtype=DOUBLE, generator=draw(2)).requires_grad_()
    bounds = support(images, threat, rows)
    (grad,) = torch.autograd.grad(bounds.sum(), rows)
    reached = (rows * grad).sum((2, 3, 4))
    torch.testing.assert_close(reached, bounds, rtol=0, atol=1e-9)
    box = pixel_bounds(images, threat)
    assert bool((grad >= box.lower[:, None] - 1e-12).all())
    assert bool((grad <= box.upper[:, None] + 1e-12).all())


def test_the_minimiser_of_one_row_is_a_warp_by_a_member() -> None:
    # Weights on a single pixel: its value in the gradient is its lower bound, others are theirs.
    images, threat = picture("random", 1, 3, 3), Threat(2.0, 0.8)
    rows = torch.zeros((1, 1, 1, 3, 3), dtype=DOUBLE)
    rows[..., 1, 1] = 2.0
    rows.requires_grad_()
    bound = support(images, threat, rows)
    box, lowest_at, _ = pixel_bounds(images, threat, return_displacements=True)
    (grad,) = torch.autograd.grad(bound.sum(), rows)
    field = lowest_at[:, 0]
    assert bool(threat.contains(field))
    assert grad[0, 0, 0, 1, 1].item() == pytest.approx(
        warp(images, field)[0, 0, 1, 1].item(), abs=1e-9
    )
    assert bound.item() == pytest.approx(2 * box.lower[0, 0, 1, 1].item(), abs=1e-9)


def test_the_gradient_has_the_type_of_the_rows() -> None:
    images = picture("random", 2, 3, 4)
    rows = torch.randn((1, 2, 2, 3, 4), generator=draw(0)).requires_grad_()
    bounds = support(images, Threat(2.0, 0.5), rows)
    (grad,) = torch.autograd.grad(bounds.sum(), rows)
    assert bounds.dtype == grad.dtype == torch.float32


def test_images_get_no_gradient() -> None:
    images = picture("random", 1, 3, 4).requires_grad_()
    rows = torch.randn((1, 2, 1, 3, 4), dtype=DOUBLE, generator=draw(0))
    assert not support(images, Threat(), rows).requires_grad


# Rows in parts


@pytest.mark.parametrize("norm", NORMS)
def test_rows_in_parts_are_all_there(norm: float, monkeypatch: pytest.MonkeyPatch) -> None:
    images = picture("random", 3, 3, 4, batch=2)
    rows = torch.randn((2, 5, 3, 3, 4), dtype=DOUBLE, generator=draw(0)).requires_grad_()
    whole = support(images, Threat(norm, 0.8), rows)
    (grad,) = torch.autograd.grad(whole.sum(), rows)
    monkeypatch.setattr("warpcert.core.memory.free_bytes", lambda _: 1)
    parts = support(images, Threat(norm, 0.8), rows)
    (again,) = torch.autograd.grad(parts.sum(), rows)
    torch.testing.assert_close(parts, whole, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(again, grad, rtol=1e-13, atol=1e-13)


# DeformedImage


def test_its_parts_are_the_public_functions() -> None:
    images, threat = picture("random", 2, 3, 4), Threat(2.0, 0.6, 0.2)
    made = DeformedImage(images, threat)
    rows = torch.randn((1, 2, 2, 3, 4), dtype=DOUBLE, generator=draw(0))
    fields = torch.randn((1, 3, 4, 2), dtype=DOUBLE, generator=draw(1))
    box = pixel_bounds(images, threat)
    assert torch.equal(made.box.lower, box.lower) and torch.equal(made.box.upper, box.upper)
    assert torch.equal(made.minimise(rows).bound, support(images, threat, rows))
    assert torch.equal(made.realise(fields), warp(images, fields))
    assert torch.equal(made.project(fields), threat.project(fields))


GOOD = torch.full((1, 1, 3, 4), 0.5)
BAD: dict[str, tuple[Any, str]] = {
    "numpy": (GOOD.numpy(), "images must be a torch tensor, got ndarray"),
    "uint8": ((255 * GOOD).to(torch.uint8), "got uint8: divide by 255 first"),
    "half": (GOOD.half(), "images must be float32 or float64, got float16"),
    "bytes as floats": (255 * GOOD, r"in \[0, 1\], got \[127.5, 127.5\]: divide by 255 first"),
    "normalised": (GOOD - 1, r"images must have values in \[0, 1\], got \[-0.5, -0.5\]"),
    "just above one": (GOOD + 0.6, r"images must have values in \[0, 1\], got \[1.1, 1.1\]"),
    "nan": (GOOD * math.nan, "images must be finite, got 12 NaN or infinite entries"),
    "infinite": (GOOD / 0, "images must be finite, got 12 NaN or infinite entries"),
    "one image": (GOOD[0], r"images must have the shape \(B, C, H, W\), got \(1, 3, 4\)"),
    "no channel": (GOOD[0, 0], r"images must have the shape \(B, C, H, W\), got \(3, 4\)"),
    "empty": (GOOD[:0], r"images must not be empty, got the shape \(0, 1, 3, 4\)"),
    "no pixel": (GOOD[..., :0], r"images must not be empty, got the shape \(1, 1, 3, 0\)"),
}
USES = {
    "pixel_bounds": lambda images: pixel_bounds(images, Threat()),
    "pixel_planes": lambda images: pixel_planes(images, Threat()),
    "support": lambda images: support(images, Threat(), torch.zeros((1, 1, 1, 3, 4))),
    "DeformedImage": lambda images: DeformedImage(images, Threat()),
}


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("bad", BAD)
def test_what_is_no_image_is_refused(use: str, bad: str) -> None:
    images, words = BAD[bad]
    with pytest.raises(ValueError, match=words) as caught:
        USES[use](images)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize("method", ["realise", "project"])
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (torch.zeros((1, 3, 4, 2)).numpy(), "fields must be a torch tensor, got ndarray"),
        (torch.zeros((3, 4, 2)), r"fields must have the shape \(B, H, W, 2\), got \(3, 4, 2\)"),
        (torch.zeros((1, 3, 4, 3)), r"fields must end in the axis \(dx, dy\)"),
        (torch.zeros((1, 3, 4, 2)).long(), "fields must be float32 or float64, got int64"),
    ],
    ids=["numpy", "axes", "three numbers", "integer"],
)
def test_what_is_no_field_is_refused(method: str, fields: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        getattr(DeformedImage(GOOD, Threat()), method)(fields)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", ["realise", "project"])
def test_fields_of_another_size_are_refused(method: str) -> None:
    with pytest.raises(ValueError, match=r"as large as the images \(3, 4\), got \(4, 3\)"):
        getattr(DeformedImage(GOOD, Threat()), method)(torch.zeros((1, 4, 3, 2)))
