"""Step: one step of training, from the numbers of some images to new weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from warpcert.train.augment import augment
from warpcert.train.deck import Deck
from warpcert.train.objective import Batch, Moment
from warpcert.train.optimiser import make_optimiser, set_rate
from warpcert.train.recipe import Recipe
from warpcert.train.surroundings import Surroundings


@dataclass(frozen=True, eq=False)
class Draw:
    """All that differs between two steps, on the device.

    ``which`` images (B,), their ``shifts`` (B, 3) if they are augmented, random ``moves`` in
    [-1, 1] if they are attacked, and the `Moment` as four numbers ``dials`` (4,).
    """

    which: Tensor
    dials: Tensor
    shifts: Tensor | None = None
    moves: Tensor | None = None

    @property
    def tensors(self) -> list[Tensor]:
        """Those there are."""
        every = (self.which, self.dials, self.shifts, self.moves)
        return [tensor for tensor in every if tensor is not None]


class Step:
    """Takes a draw to the loss, still on the device, and improves the module's weights.

    It never asks the device for a number, so a GPU can record it: see `Recorded`.
    """

    def __init__(
        self, module: nn.Sequential, deck: Deck, surroundings: Surroundings, recipe: Recipe
    ) -> None:
        self.module, self.deck, self.surroundings = module, deck, surroundings
        self.recipe, self.objective = recipe, recipe.objective
        self.optimiser = make_optimiser(module, recipe.rate)

    def __call__(self, draw: Draw) -> Tensor:
        """Do it; the module is in training mode."""
        now = Moment(*draw.dials.unbind())
        set_rate(self.optimiser, now.rate)
        loss = self.objective(self.module, self.batch(draw), self.surroundings, now)
        if self.recipe.l1:
            loss = loss + self.recipe.l1 * weight_sizes(self.module)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.module.parameters(), self.recipe.clip)
        self.optimiser.step()
        return loss.detach()

    def batch(self, draw: Draw) -> Batch:
        """The images of a draw, moved and mirrored."""
        part = self.deck.take(draw.which)
        if draw.shifts is not None:
            part = Deck(augment(part.images, draw.shifts), part.labels)
        images = part.floats()
        if images.is_cuda:  # the layout of the convolutions that are fast there
            images = images.contiguous(memory_format=torch.channels_last)
        return Batch(images, part.labels, draw.moves)


def weight_sizes(module: nn.Module) -> Tensor:
    """The sum of the absolute weights of convolutions and linear layers."""
    layers: Sequence[nn.Conv2d | nn.Linear] = [
        part for part in module.modules() if isinstance(part, nn.Conv2d | nn.Linear)
    ]
    return torch.stack([layer.weight.abs().sum() for layer in layers]).sum()
