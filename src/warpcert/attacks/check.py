"""check: no attack is believed."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from warpcert.attacks.attacked import Attacked
from warpcert.attacks.enclose import enclose
from warpcert.attacks.margins import rival_margins
from warpcert.core import rounding
from warpcert.core.errors import Unsound
from warpcert.core.inputset import InputSet
from warpcert.core.interval import Interval
from warpcert.core.memory import chunk_size
from warpcert.core.shapes import Float, Int
from warpcert.net import Network

ENCLOSED_ARRAYS = 8
"""Float64 arrays of every layer's size that one image needs, at most."""


def check(
    network: Network,
    inputs: InputSet,
    labels: Int[Tensor, " B"],
    found: Float[Tensor, "B ..."],
    claims: Float[Tensor, " B"],
) -> Attacked:
    """Test what was found for each image, and the margin that was claimed for it.

    Raises `Unsound` for what is not a member of its set, or has not the margin claimed, as far as
    float32 can tell. An image is fooled when the label's score is below another one for every
    image within the rounding of the one found, and all rounding in the network is allowed for:
    products are summed plainly here, as the bounds of rounding want it.
    """
    network = network.to(dtype=torch.float64)
    found = found.detach().to(torch.float64)
    size = chunk_size(8 * ENCLOSED_ARRAYS * network.entries, found.device)
    parts = []
    with torch.no_grad(), torch.backends.cudnn.flags(enabled=False):
        for some in torch.arange(len(labels), device=labels.device).split(size):
            sets = inputs.select(some)
            parts.append(_check(network, sets, labels[some], found[some], claims[some]))
    return Attacked(
        torch.cat([part.parameters for part in parts]),
        torch.cat([part.margins for part in parts]),
        torch.cat([part.rivals for part in parts]),
        torch.cat([part.fooled for part in parts]),
    )


def _check(
    network: Network, inputs: InputSet, labels: Tensor, found: Tensor, claims: Tensor
) -> Attacked:
    if not bool(inputs.contains(found).all()):
        raise Unsound("an attack hands out parameters that are outside of their set")
    images = inputs.realise(found).to(torch.float64)
    margins, rivals = rival_margins(network(images), labels)
    off = rounding.realised(images)
    scores = enclose(network, Interval(images - off, images + off))
    fooled = (scores.upper.gather(1, labels[:, None]) < scores.lower).any(1)
    claimed = torch.isfinite(claims) & torch.isfinite(margins)
    allowed = rounding.searched(scores.width.amax(1))
    if bool((claimed & ~((claims - margins).abs() <= allowed)).any()):
        raise Unsound("an attack claims a margin that its parameters do not have")
    return Attacked(found, margins.nan_to_num(nan=math.inf), rivals, fooled)
