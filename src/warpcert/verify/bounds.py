"""Bounds of every layer and margin of a network on bent images."""

from __future__ import annotations

from torch import Tensor

from warpcert.bound import Bounds, margin_rows
from warpcert.flow import Threat
from warpcert.net import Network
from warpcert.verify.methods import bounder
from warpcert.verify.problem import check_problem
from warpcert.verify.relax import Relaxation, relax


def bounds(  # noqa: PLR0913 - the last three are for comparisons
    network: Network,
    images: Tensor,
    threat: Threat,
    labels: Tensor,
    method: str = "deeppoly",
    *,
    relaxation: Relaxation = "hull",
    intersect: bool = True,
    warm: Bounds | None = None,
) -> Bounds:
    """Bound what a network makes of images (B, C, H, W) bent within a threat.

    Returns `Bounds`, which unpacks as ``layers, margins``: the Interval of every activation's
    input by its number in the network, and lower bounds of the margins (B, classes - 1), the
    label's score minus that of every other class in turn, all in float64. Sound for the
    network and the bilinear warp in exact arithmetic; ``warm`` are bounds of a larger threat, such
    as one with a larger gamma, which are then never worsened.
    """
    images, labels = check_problem(network, images, labels)
    rows = margin_rows(labels, network.classes)
    return bounder(method, intersect)(network, relax(images, threat, relaxation), rows, warm)
