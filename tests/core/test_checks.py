"""checks: one line for each way an argument can be wrong, and silence for what is right."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from warpcert.core.checks import check_fields, check_finite, check_floats, check_images

IMAGES = torch.tensor([[[[0.0, 1.0], [0.5, 0.25]]]])
FIELDS = torch.zeros((1, 2, 2, 2))


def refusal(check: Any, *arguments: Any) -> str:
    with pytest.raises(ValueError, match="must") as caught:
        check(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_right_passes(dtype: torch.dtype) -> None:
    check_floats("weights", torch.zeros((2, 3), dtype=dtype), "A B")
    check_images(IMAGES.to(dtype))
    check_fields(FIELDS.to(dtype))
    check_fields(FIELDS.to(dtype), (2, 2))
    check_finite("weights", IMAGES.to(dtype))
    check_images(IMAGES.to(dtype).requires_grad_())


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([[0.0]], "weights must be a torch tensor, got list"),
        (None, "weights must be a torch tensor, got NoneType"),
        (torch.zeros(1), "weights must have the shape (A, B), got (1,)"),
        (torch.zeros((1, 1, 1)), "weights must have the shape (A, B), got (1, 1, 1)"),
        (torch.zeros(()), "weights must have the shape (A, B), got ()"),
        (torch.zeros((3, 0)), "weights must not be empty, got the shape (3, 0)"),
    ],
)
def test_floats(x: Any, message: str) -> None:
    assert refusal(check_floats, "weights", x, "A B") == message


@pytest.mark.parametrize(
    ("dtype", "ending"),
    [
        (torch.uint8, "got uint8: divide by 255 first"),
        (torch.int64, "got int64"),
        (torch.bfloat16, "got bfloat16"),
        (torch.complex64, "got complex64"),
        (torch.bool, "got bool"),
    ],
)
def test_types(dtype: torch.dtype, ending: str) -> None:
    message = refusal(check_floats, "weights", torch.zeros((1, 1), dtype=dtype), "A B")
    assert message == f"weights must be float32 or float64, {ending}"


@pytest.mark.parametrize(
    ("scale", "shift", "message"),
    [
        (255.0, 0.0, "images must have values in [0, 1], got [0, 255]: divide by 255 first"),
        (2.0, -1.0, "images must have values in [0, 1], got [-1, 1]"),
        (1.0, 0.5, "images must have values in [0, 1], got [0.5, 1.5]"),
        (1.0, -1e-9, "images must have values in [0, 1], got [-1e-09, 1]"),
    ],
)
def test_values_of_images(scale: float, shift: float, message: str) -> None:
    assert refusal(check_images, (scale * IMAGES.double() + shift)) == message


def test_images_just_beyond_the_range_are_refused() -> None:
    assert "[0, 1]" in refusal(check_images, IMAGES * (1 + 2**-23))
    assert "[0, 1]" in refusal(check_images, IMAGES - 1e-45)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_entries_that_are_no_numbers_are_counted(wrong: float) -> None:
    images = IMAGES.clone()
    images[0, 0, 1] = wrong
    assert refusal(check_images, images) == "images must be finite, got 2 NaN or infinite entries"
    assert refusal(check_finite, "x", images) == "x must be finite, got 2 NaN or infinite entries"


def test_fields() -> None:
    assert refusal(check_fields, FIELDS[0]) == (
        "fields must have the shape (B, H, W, 2), got (2, 2, 2)"
    )
    assert refusal(check_fields, torch.zeros((1, 2, 2, 3))) == (
        "fields must end in the axis (dx, dy), got (1, 2, 2, 3)"
    )
    assert refusal(check_fields, FIELDS, (2, 3)) == (
        "fields must be as large as the images (2, 3), got (2, 2)"
    )
