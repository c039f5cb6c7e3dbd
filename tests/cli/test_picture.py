"""The drawings carry the right arrays, and the files the right dots."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor

import warpcert as wc
from warpcert.cli.names import ImageName, name_images
from warpcert.cli.picture import (
    COLOURS,
    DPI,
    LEVEL,
    MOST_ROWS,
    draw_bounds,
    draw_threats,
    draw_widths,
    write_mathematically,
)
from warpcert.cli.save import save_figure

THREAT = wc.Threat(2.0, 0.5)


def draw(spec: str) -> tuple[Tensor, wc.Interval, Figure]:
    images, labels = wc.load_images(spec)
    box = wc.pixel_bounds(images, THREAT)
    return images, box, draw_bounds(images, box, name_images(spec, labels), THREAT)


def array(axes: Axes) -> np.ndarray:
    """What is drawn on some axes."""
    (image,) = axes.get_images()
    values = image.get_array()
    assert values is not None
    return np.asarray(values)


def pixels(image: Tensor) -> np.ndarray:
    """An image (C, H, W) as it is drawn."""
    return image.squeeze(0).numpy() if len(image) == 1 else image.permute(1, 2, 0).numpy()


@pytest.mark.parametrize("spec", ["mnist:0-2", "cifar10:5-6", "fashion:9"])
def test_the_panels_are_the_bounds(spec: str) -> None:
    images, box, figure = draw(spec)
    *panels, bar = figure.axes
    rows = len(images)
    assert len(panels) == 4 * rows
    for i in range(rows):
        image, lower, upper, width = panels[i::rows]
        np.testing.assert_array_equal(array(image), pixels(images[i]))
        np.testing.assert_array_equal(array(lower), pixels(box.lower[i]))
        np.testing.assert_array_equal(array(upper), pixels(box.upper[i]))
        np.testing.assert_array_equal(array(width), box.width[i].amax(0).numpy())
        for axes in (image, lower, upper):
            assert axes.get_images()[0].get_clim() == (0, 1)
        (drawn,) = width.get_images()
        assert drawn.get_clim() == (0, float(box.width.max()))
        assert drawn.get_cmap().name == COLOURS
        assert {axes.get_images()[0].get_interpolation() for axes in panels} == {"nearest"}
    assert bar.get_ylabel() == "width of the interval"
    assert bar.get_ylim() == pytest.approx((0, float(box.width.max())))


def test_rows_go_down_and_columns_right() -> None:
    _, _, figure = draw("mnist:0-1")
    left, bottom = (
        np.array([getattr(axes.get_position(), end) for axes in figure.axes[:8]]).reshape(4, 2)
        for end in ("x0", "y0")
    )
    assert (np.diff(left, axis=0) > 0).all()
    assert (np.diff(bottom, axis=1) < 0).all()
    assert max(np.ptp(left, axis=1).max(), np.ptp(bottom, axis=0).max()) < 1e-9


def test_the_words() -> None:
    _, _, figure = draw("cifar10:0-1")
    assert [axes.get_ylabel() for axes in figure.axes[:2]] == [
        "cifar10:0 (cat)",
        "cifar10:1 (ship)",
    ]
    titles = [axes.get_title() for axes in figure.axes[:8:2]]
    assert titles == ["image", "lower bound", "upper bound", "width"]
    (title,) = figure.texts
    assert title.get_text() == f"Pixel bounds under {write_mathematically(THREAT)}"


def test_the_threat_is_written_as_mathematics() -> None:
    assert write_mathematically(THREAT) == r"$T_{2}$, $\delta = 0.5$, $\gamma = \infty$"
    other = wc.Threat(math.inf, 1.25, 0.01, "inside")
    written = r"$T_{\infty}$, $\delta = 1.25$, $\gamma = 0.01$, border inside"
    assert write_mathematically(other) == written


def test_many_images_are_cut_and_the_title_says_so() -> None:
    _, _, figure = draw("mnist:0-9")
    assert len(figure.axes) == 4 * MOST_ROWS + 1
    assert figure.texts[0].get_text().endswith("(the first 8 of 10 images)")


def test_one_row_for_each_threat() -> None:
    images, labels = wc.load_images("fashion:1")
    threats = [wc.Threat(norm, 0.5) for norm in (1.0, 2.0, math.inf)]
    boxes = [wc.pixel_bounds(images, threat) for threat in threats]
    (name,) = name_images("fashion:1", labels)
    *panels, _ = draw_threats(images, boxes, threats, name).axes
    for i, (threat, box) in enumerate(zip(threats, boxes, strict=True)):
        image, lower, upper, width = panels[i::3]
        np.testing.assert_array_equal(array(image), pixels(images[0]))
        np.testing.assert_array_equal(array(lower), pixels(box.lower[0]))
        np.testing.assert_array_equal(array(upper), pixels(box.upper[0]))
        np.testing.assert_array_equal(array(width), pixels(box.width[0]))
        assert image.get_ylabel() == write_mathematically(threat)
        assert width.get_images()[0].get_clim() == (0, max(float(b.width.max()) for b in boxes))


def test_widths_side_by_side() -> None:
    images, labels = wc.load_images("cifar10:0")
    threats = [wc.Threat(norm, 0.5) for norm in (1.0, 2.0, math.inf)]
    boxes = [wc.pixel_bounds(images, threat) for threat in threats]
    (name,) = name_images("cifar10:0", labels)
    image, *widths, _ = draw_widths(images, boxes, threats, name).axes
    np.testing.assert_array_equal(array(image), pixels(images[0]))
    for axes, threat, box in zip(widths, threats, boxes, strict=True):
        np.testing.assert_array_equal(array(axes), box.width[0].amax(0).numpy())
        assert axes.get_title() == write_mathematically(threat)
    assert len({axes.get_images()[0].get_clim() for axes in widths}) == 1


@pytest.mark.parametrize(
    ("shape", "panel"),
    [((1, 28, 28), (392, 392)), ((3, 32, 32), (384, 384)), ((3, 300, 600), (400, 280))],
)
def test_the_file_has_the_size_of_its_panels(
    tmp_path: Path, shape: tuple[int, int, int], panel: tuple[int, int]
) -> None:
    images = torch.rand(2, *shape)
    figure = draw_bounds(
        images, wc.Interval(0.5 * images, images), [ImageName("a", None, "")] * 2, THREAT
    )
    save_figure(figure, tmp_path / "b.png")
    with Image.open(tmp_path / "b.png") as picture:
        size = picture.size
        colours = picture.convert("RGB").getcolors(1 << 24)
    assert colours is None or len(colours) > 50
    margins = 0.32 + 3 * 0.08 + 0.1 + 0.13 + 0.68, 0.66 + 0.08 + 0.12
    assert size[0] == pytest.approx(4 * panel[0] + DPI * margins[0], abs=1)
    assert size[1] == pytest.approx(2 * panel[1] + DPI * margins[1], abs=1)


def test_every_pixel_is_a_square_of_whole_dots(tmp_path: Path) -> None:
    images = (torch.arange(16) / 15).reshape(1, 1, 4, 4)
    figure = draw_bounds(
        images, wc.Interval(0.5 * images, images), [ImageName("a", None, "")], THREAT
    )
    save_figure(figure, tmp_path / "b.png")
    with Image.open(tmp_path / "b.png") as picture:
        dots = np.asarray(picture.convert("L"))
    for axes, scale in zip(figure.axes[:2], (1.0, 0.5), strict=True):
        frame = axes.get_window_extent()
        left, top = round(frame.x0), round(len(dots) - frame.y1)
        panel = dots[top : top + 400, left : left + 400].reshape(4, 100, 4, 100)
        inner = panel[:, 3:-3, :, 3:-3]  # without the frame
        assert (inner.max((1, 3)) == inner.min((1, 3))).all()
        wanted = 255 * scale * images[0, 0].numpy()
        np.testing.assert_allclose(inner[:, 0, :, 0], wanted, atol=1)


def test_rounding_is_not_magnified() -> None:
    images = torch.rand(1, 1, 5, 5)
    box = wc.Interval(images, images)
    figure = draw_bounds(images, box, [ImageName("a", None, "")], wc.Threat(2.0, 0.0))
    assert figure.axes[3].get_images()[0].get_clim() == (0, LEVEL)


def test_large_images_are_smoothed() -> None:
    images = torch.rand(1, 3, 300, 200)
    figure = draw_bounds(images, wc.Interval(images, images), [ImageName("a", None, "")], THREAT)
    assert figure.axes[0].get_images()[0].get_interpolation() == "auto"


def test_long_names_lose_their_middle() -> None:
    images = torch.rand(1, 1, 5, 5)
    name = ImageName("beginning" + "x" * 100 + "end.png", 3, "3")
    figure = draw_bounds(images, wc.Interval(images, images), [name], THREAT)
    label = figure.axes[0].get_ylabel()
    assert len(label) <= 30
    assert label.startswith("beginning")
    assert label.endswith("end.png (3)")


def test_the_users_settings_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    _, _, figure = draw("mnist:0")
    save_figure(figure, tmp_path / "plain.png")
    with matplotlib.rc_context():
        matplotlib.rcParams.update(
            {"figure.facecolor": "red", "font.size": 30, "image.origin": "lower"}
        )
        before = dict(matplotlib.rcParams)
        _, _, figure = draw("mnist:0")
        save_figure(figure, tmp_path / "mine.png")
        assert dict(matplotlib.rcParams) == before
    assert (tmp_path / "mine.png").read_bytes() == (tmp_path / "plain.png").read_bytes()
