"""The overview is computed: candidates, planes and values fit each other as the paper has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from mpl_toolkits.mplot3d import Axes3D

from tests.experiments_figures.layout import assert_readable, texts
from warpcert.experiments.figures import draw_overview
from warpcert.experiments.figures.overview import FIRST, SAMPLE, SECOND, relax_pixel

NEAR = 1e-9


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[np.ndarray]]:
    """The points (n, 3) of all sheets, nets and dots that are drawn in space from now on."""
    points: dict[str, list[np.ndarray]] = {}

    def watch(name: str) -> None:
        method: Callable[..., Any] = getattr(Axes3D, name)

        def watched(self: Axes3D, *given: Any, **options: Any) -> Any:
            points.setdefault(name, []).append(np.stack([np.ravel(x) for x in given[:3]], axis=1))
            return method(self, *given, **options)

        monkeypatch.setattr(Axes3D, name, watched)

    for name in ("plot_surface", "plot_wireframe", "scatter"):
        watch(name)
    return points


def fit(points: np.ndarray) -> np.ndarray:
    """Constant and slopes of the plane through points (n, 3)."""
    plane, left, *_ = np.linalg.lstsq(
        np.column_stack([np.ones(len(points)), points[:, :2]]), points[:, 2], rcond=None
    )
    assert left == pytest.approx(0, abs=NEAR)
    return plane


def height(plane: np.ndarray, points: np.ndarray) -> np.ndarray:
    return plane[0] + points[:, :2] @ plane[1:]


def test_the_planes_of_the_paper_are_drawn(drawn: dict[str, list[np.ndarray]]) -> None:
    draw_overview()
    above, below = map(fit, drawn["plot_surface"])
    net, dots = drawn["plot_wireframe"][0], drawn["scatter"][0]
    assert above == pytest.approx([0.125, 0.25, 0.0], abs=NEAR)
    assert sorted(map(tuple, dots[:, :2])) == [
        (x, y) for x in (-0.5, 0, 0.5) for y in (-0.5, 0, 0.5)
    ]
    gaps = height(above, dots) - dots[:, 2]
    assert gaps == pytest.approx(np.where(dots[:, 0] == 0, 0.125, 0.0), abs=NEAR)
    assert (height(above, net) >= net[:, 2] - NEAR).all()
    net, dots = drawn["plot_wireframe"][1], drawn["scatter"][1]
    assert below == pytest.approx([0.5, 0.5, 0.0], abs=NEAR)
    assert height(below, dots) == pytest.approx(dots[:, 2], abs=NEAR)
    assert (height(below, net) <= net[:, 2] + NEAR).all()


def test_it_can_be_read() -> None:
    figure = draw_overview()
    assert_readable(figure)
    assert {"(a) sample image", "(b) plane above $x_0$", "(c) plane below $x_1$"} <= {
        *texts(figure)
    }


def test_another_image_has_other_planes() -> None:
    image = torch.rand((1, 4, 4), dtype=torch.float64)
    for pixel in (FIRST, SECOND):
        found = relax_pixel(image, pixel, 0.7)
        x, y, z = found.candidates.T
        for plane, sign in ((found.below, 1), (found.above, -1)):
            gaps = sign * (z - plane @ np.stack([np.ones_like(x), x, y]))
            assert gaps.min() == pytest.approx(0, abs=1e-6)  # candidates are kept in float32
            assert gaps.max() > 1e-3
    assert_readable(draw_overview(image, delta=0.7))


def test_the_sample_is_the_papers() -> None:
    assert SAMPLE[0, FIRST[0], FIRST[1]] == 0 and SAMPLE[0, SECOND[0], SECOND[1]] == 0.5
