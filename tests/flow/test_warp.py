"""warp: the one definition of bending, every convention with a known answer of its own."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import grid_sample

from tests.flow.pictures import draw, picture
from tests.oracle import value
from warpcert import warp

DOUBLE = torch.float64
COUNTED = torch.arange(12, dtype=DOUBLE).view(1, 1, 3, 4)
"""Row i, column j holds 4 i + j."""


def constant(dx: float, dy: float, height: int, width: int, dtype: torch.dtype = DOUBLE) -> Tensor:
    return torch.tensor([dx, dy], dtype=dtype).expand(1, height, width, 2)


def random_fields(batch: int, height: int, width: int, size: float, seed: int = 0) -> Tensor:
    return size * torch.randn((batch, height, width, 2), dtype=DOUBLE, generator=draw(seed))


def by_grid_sample(images: Tensor, fields: Tensor) -> Tensor:
    """The same by torch's own sampler, whose coordinates run from -1 to 1."""
    height, width = images.shape[-2:]
    x = torch.arange(width, dtype=DOUBLE) + fields[..., 0]
    y = torch.arange(height, dtype=DOUBLE)[:, None] + fields[..., 1]
    grid = torch.stack([2 * x / (width - 1) - 1, 2 * y / (height - 1) - 1], dim=-1)
    return grid_sample(images, grid, "bilinear", padding_mode="border", align_corners=True)


# Conventions, one by one


def test_dx_counts_columns_to_the_right() -> None:
    bent = warp(COUNTED, constant(1, 0, 3, 4))
    assert bent[0, 0].tolist() == [[1, 2, 3, 3], [5, 6, 7, 7], [9, 10, 11, 11]]


def test_dy_counts_rows_downwards() -> None:
    bent = warp(COUNTED, constant(0, 1, 3, 4))
    assert bent[0, 0].tolist() == [[4, 5, 6, 7], [8, 9, 10, 11], [8, 9, 10, 11]]


def test_negative_displacements_look_left_and_up() -> None:
    assert warp(COUNTED, constant(-1, 0, 3, 4))[0, 0, 1].tolist() == [4, 4, 5, 6]
    assert warp(COUNTED, constant(0, -1, 3, 4))[0, 0, :, 2].tolist() == [2, 2, 6]


def test_fractions_interpolate() -> None:
    assert warp(COUNTED, constant(0.25, 0, 3, 4))[0, 0, 0].tolist() == [0.25, 1.25, 2.25, 3]
    assert warp(COUNTED, constant(0, 0.5, 3, 4))[0, 0, :, 0].tolist() == [2, 6, 8]
    assert warp(COUNTED, constant(-0.25, 0.5, 3, 4))[0, 0, 1, 2].item() == 8 - 0.25


def test_between_four_pixels_the_product_counts() -> None:
    images = torch.tensor([[0.0, 0.0], [0.0, 1.0]], dtype=DOUBLE)[None, None]
    assert warp(images, constant(0.5, 0.25, 2, 2))[0, 0, 0, 0].item() == 0.125


def test_each_pixel_has_its_own_displacement() -> None:
    field = torch.zeros((1, 3, 4, 2), dtype=DOUBLE)
    field[0, 1, 2] = torch.tensor([1.0, -1.0])
    expected = COUNTED.clone()
    expected[0, 0, 1, 2] = COUNTED[0, 0, 0, 3]
    assert torch.equal(warp(COUNTED, field), expected)


@pytest.mark.parametrize("far", [3.0, 3.5, 100.0, 1e30])
def test_beyond_the_border_lies_the_edge_pixel(far: float) -> None:
    last = COUNTED[..., -1:].expand(-1, -1, -1, 4)
    assert torch.equal(warp(COUNTED, constant(far, 0, 3, 4)), last)
    assert torch.equal(warp(COUNTED, constant(-far, 0, 3, 4)), COUNTED[..., :1].expand(1, 1, 3, 4))
    assert torch.equal(warp(COUNTED, constant(0, far, 3, 4)), COUNTED[:, :, -1:].expand(1, 1, 3, 4))
    assert torch.equal(warp(COUNTED, constant(0, -far, 3, 4)), COUNTED[:, :, :1].expand(1, 1, 3, 4))


def test_channels_move_together_and_keep_their_order() -> None:
    images = torch.cat([COUNTED, 100 + 2 * COUNTED, -COUNTED], dim=1)
    field = random_fields(1, 3, 4, 1.0)
    bent = warp(images, field)
    first = warp(COUNTED, field)[:, 0]
    assert torch.equal(bent[:, 0], first)
    torch.testing.assert_close(bent[:, 1], 100 + 2 * first, rtol=0, atol=1e-12)
    assert torch.equal(bent[:, 2], -first)


# Exactness


@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_whole_displacements_are_exact(dtype: torch.dtype) -> None:
    images = picture("random", 2, 5, 7, batch=2).to(dtype)
    for dx, dy in itertools.product((-8, -2, -1, 0, 1, 3, 9), repeat=2):
        rows = (torch.arange(5) + dy).clamp(0, 4)
        columns = (torch.arange(7) + dx).clamp(0, 6)
        bent = warp(images, constant(dx, dy, 5, 7, dtype))
        assert torch.equal(bent, images[:, :, rows][..., columns])


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 4), (4, 1), (2, 2), (3, 5)])
def test_values_are_those_of_the_reference(height: int, width: int) -> None:
    images = picture("random", 1, height, width)
    rng = np.random.default_rng(0)
    fields = torch.from_numpy(rng.integers(-80, 81, (6, height, width, 2)) / 16)
    bent = warp(images, fields)
    for k, i, j in itertools.product(range(6), range(height), range(width)):
        exact = value(images[0, 0].numpy(), i, j, *fields[k, i, j].tolist())
        assert bent[k, 0, i, j].item() == pytest.approx(float(exact), rel=0, abs=1e-15)


@pytest.mark.parametrize(("height", "width"), [(2, 2), (2, 9), (6, 5), (32, 28)])
@pytest.mark.parametrize("size", [0.3, 2.0, 40.0])
def test_equal_to_grid_sample(height: int, width: int, size: float) -> None:
    images = picture("random", 3, height, width, batch=2)
    fields = random_fields(2, height, width, size)
    torch.testing.assert_close(
        warp(images, fields), by_grid_sample(images, fields), rtol=0, atol=1e-12
    )


def test_weights_are_accurate_far_from_the_corner() -> None:
    # Adding 1e-9 to column 1000 first would lose the displacement's last seven digits.
    images = torch.zeros((1, 1, 1, 1002), dtype=DOUBLE)
    images[..., 1001] = 1.0
    assert warp(images, constant(1e-9, 0, 1, 1002))[0, 0, 0, 1000].item() == 1e-9


# Types, batches, gradients


@pytest.mark.parametrize("image", [torch.float32, DOUBLE])
@pytest.mark.parametrize("field", [torch.float32, DOUBLE])
def test_the_wider_type_wins(image: torch.dtype, field: torch.dtype) -> None:
    images, fields = picture("random", 1, 4, 5), random_fields(1, 4, 5, 0.5)
    bent = warp(images.to(image), fields.to(field))
    assert bent.dtype == torch.promote_types(image, field)
    torch.testing.assert_close(bent.to(DOUBLE), warp(images, fields), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("images", "fields"), [(1, 4), (4, 1), (4, 4), (1, 1)])
def test_a_batch_of_one_is_repeated(images: int, fields: int) -> None:
    x, f = picture("random", 2, 3, 4, batch=images), random_fields(fields, 3, 4, 1.0)
    bent = warp(x, f)
    assert bent.shape == (max(images, fields), 2, 3, 4)
    for k in range(len(bent)):
        one = warp(x[[k % images]], f[[k % fields]])
        assert torch.equal(bent[[k]], one)


@pytest.mark.parametrize(("images", "fields"), [(2, 2), (1, 2), (2, 1)])
def test_gradients_of_both_arguments(images: int, fields: int) -> None:
    x = picture("random", 2, 3, 4, batch=images).requires_grad_()
    f = random_fields(fields, 3, 4, 0.7, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(warp, (x, f))


def test_the_gradient_on_a_grid_line_is_that_of_the_cell_behind_it() -> None:
    field = torch.zeros((1, 3, 4, 2), dtype=DOUBLE, requires_grad=True)
    images = COUNTED**2
    (grad,) = torch.autograd.grad(warp(images, field).sum(), field)
    assert grad[0, 1, 1].tolist() == [36 - 25, 81 - 25]


# Misuse

IMAGES, FIELDS = torch.zeros((2, 1, 3, 4)), torch.zeros((2, 3, 4, 2))


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize(
    ("images", "fields", "words"),
    [
        (IMAGES.numpy(), FIELDS, "images must be a torch tensor, got ndarray"),
        (IMAGES.to(torch.uint8), FIELDS, "images must be float32 or float64, got uint8"),
        (IMAGES.half(), FIELDS, "images must be float32 or float64, got float16"),
        (IMAGES[0], FIELDS, r"images must have the shape \(B, C, H, W\), got \(1, 3, 4\)"),
        (IMAGES[:0], FIELDS, "images must not be empty"),
        (IMAGES, FIELDS.numpy(), "fields must be a torch tensor, got ndarray"),
        (IMAGES, FIELDS.long(), "fields must be float32 or float64, got int64"),
        (IMAGES, FIELDS[0], r"fields must have the shape \(B, H, W, 2\), got \(3, 4, 2\)"),
        (IMAGES, FIELDS[..., :1], r"fields must end in the axis \(dx, dy\), got \(2, 3, 4, 1\)"),
        (IMAGES, FIELDS.mT.contiguous(), r"fields must end in the axis \(dx, dy\)"),
        (IMAGES, FIELDS.transpose(1, 2), r"as large as the images \(3, 4\), got \(4, 3\)"),
        (
            IMAGES,
            torch.zeros((3, 3, 4, 2)),
            "one batch size, or one of them of size 1, got 2 and 3",
        ),
    ],
)
def test_misuse_is_named(images: Tensor, fields: Tensor, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        warp(images, fields)
    assert "\n" not in str(caught.value)


def test_nan_displacements_do_not_pass_for_numbers() -> None:
    assert bool(torch.isnan(warp(COUNTED, constant(math.nan, 0, 3, 4))).any())
