"""Window: rows minimised on the rectangle they live on."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as nn
from torch import Tensor

from tests.flow.agree import NORMS
from tests.flow.pictures import draw, picture
from warpcert import DeformedImage, Threat
from warpcert.flow.window import Window

DOUBLE = torch.float64


def patches(channels: int, places: list[tuple[int, int]], side: int, size: int) -> Tensor:
    """Rows (1, R, C, side, side) that are random in a square of that size and zero elsewhere."""
    rows = torch.zeros((1, len(places), channels, side, side), dtype=DOUBLE)
    for r, (i, j) in enumerate(places):
        patch = torch.randn((channels, size, size), dtype=DOUBLE, generator=draw(r))
        rows[0, r, :, i : i + size, j : j + size] = patch
    return rows


def test_the_smallest_common_size() -> None:
    rows = torch.zeros((2, 4, 2, 6, 7), dtype=DOUBLE)
    rows[0, 0, 0, 1, 2] = 1  # one entry in one channel, one in the other
    rows[0, 0, 1, 2, 4] = 1
    rows[0, 1, 0, 5, 6] = 1  # in the corner: the window moves inwards
    rows[0, 2, 0, 0, 0] = -1
    rows[1, 0, 0, 3, 1] = 1  # in the other image it is elsewhere
    window = Window.around(rows)
    assert (window.height, window.width) == (2, 3)
    assert window.top.tolist() == [[1, 4, 0, 0], [3, 0, 0, 0]]
    assert window.left.tolist() == [[2, 4, 0, 0], [1, 0, 0, 0]]


def test_cutting_and_pasting() -> None:
    rows = patches(2, [(0, 0), (3, 1), (2, 4)], 6, 2)
    window = Window.around(rows)
    parts = window.cut_rows(rows)
    assert parts.shape == (1, 3, 2, 2, 2)
    assert torch.equal(parts[0, 1], rows[0, 1, :, 3:5, 1:3])
    assert torch.equal(window.paste(parts, torch.zeros_like(rows)), rows)


def test_every_image_has_windows_of_its_own() -> None:
    rows = torch.cat([patches(2, [(0, 0), (3, 1)], 6, 2), patches(2, [(2, 4), (4, 4)], 6, 2)])
    window = Window.around(rows)
    parts = window.cut_rows(rows)
    assert torch.equal(parts[1, 0], rows[1, 0, :, 2:4, 4:])
    assert torch.equal(window.paste(parts, torch.zeros_like(rows)), rows)
    images = torch.arange(144, dtype=DOUBLE).view(2, 2, 6, 6)  # (channels, batch, ...)
    shown = window.cut(images)
    assert shown.shape == (2, 2, 2, 2, 2)
    assert torch.equal(shown[1, 0, 1], images[1, 0, 3:5, 1:3])
    assert torch.equal(shown[0, 1, 0], images[0, 1, 2:4, 4:])
    assert torch.equal(window.cut(images[:, :1])[1, 1, 0], images[1, 0, 2:4, 4:])
    assert torch.equal(window[1:].cut(images), shown[:, :, 1:])


def test_a_halo_shows_what_is_around() -> None:
    image = torch.arange(36, dtype=DOUBLE).view(1, 6, 6)
    framed = nn.pad(image, (1, 1, 1, 1), mode="replicate")
    window = Window.around(patches(1, [(0, 0), (3, 1)], 6, 2))
    shown = window.cut(framed, halo=1)
    assert torch.equal(shown[0, 1], image[0, 2:6, 0:4])
    assert shown[0, 0].tolist() == [
        [0, 0, 1, 2],
        [0, 0, 1, 2],
        [6, 6, 7, 8],
        [12, 12, 13, 14],
    ]


def test_zero_rows_have_a_window() -> None:
    window = Window.around(torch.zeros((1, 2, 1, 4, 4)))
    assert (window.height, window.width) == (1, 1)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("gamma", [0.02, 0.2, 9.0])
def test_a_window_gives_what_the_whole_image_gives(norm: float, gamma: float) -> None:
    images = picture("real", 3, 12, 12)
    rows = patches(3, [(0, 0), (9, 9), (4, 5), (0, 9), (7, 1)], 12, 3)
    deformed = DeformedImage(images, Threat(norm, 0.7, gamma), effort="thorough")
    alone = deformed.minimise(rows)
    # One tiny entry in each of two corners makes the window the whole image.
    wide = rows.clone()
    wide[:, :, :, 0, 0] += 1e-30
    wide[:, :, :, -1, -1] += 1e-30
    whole = deformed.minimise(wide)
    assert alone.duals is None or alone.duals.shape[-2:] == (3, 3)
    assert whole.duals is None or whole.duals.shape[-2:] == (12, 12)
    size = rows.abs().sum((2, 3, 4))
    tight = 1e-12 if gamma == 9.0 else 0.01
    assert bool(((alone.bound - whole.bound).abs() <= tight * size).all())


@pytest.mark.parametrize("norm", NORMS)
def test_windows_of_regions_that_differ(norm: float) -> None:
    images, threat = picture("real", 1, 10, 10), Threat(norm, 1.3, border="inside")
    rows = patches(1, [(0, 0), (7, 7), (3, 4), (0, 7)], 10, 3)
    parts = DeformedImage(images, threat).minimise(rows).bound
    dense = rows.clone().requires_grad_()  # with a gradient to come, whole images are used
    whole = DeformedImage(images, threat).minimise(dense).bound.detach()
    torch.testing.assert_close(parts, whole, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("gamma", [0.1, 9.0])
def test_a_batch_gives_what_its_images_give_alone(norm: float, gamma: float) -> None:
    images = picture("real", 3, 12, 12, batch=3)
    places = [[(0, 0), (9, 9)], [(4, 5), (0, 9)], [(7, 1), (2, 2)]]
    rows = torch.cat([patches(3, some, 12, 3) for some in places])
    threat = Threat(norm, 0.7, gamma)
    together = DeformedImage(images, threat).minimise(rows)
    assert together.duals is None or together.duals.shape == (3, 2, 2, 2, 3, 3)
    for b in range(3):
        alone = DeformedImage(images[[b]], threat).minimise(rows[[b]])
        torch.testing.assert_close(together.bound[[b]], alone.bound, rtol=1e-5, atol=1e-5)


def test_balls_larger_than_the_image_are_not_cut() -> None:
    images = picture("random", 1, 3, 4)
    rows = torch.zeros((1, 1, 1, 3, 4), dtype=DOUBLE)
    rows[..., 1, 1] = 1.0
    bound = DeformedImage(images, Threat("inf", 9.0, 5.0)).minimise(rows).bound.item()
    assert bound == pytest.approx(images.min().item(), abs=1e-9)
