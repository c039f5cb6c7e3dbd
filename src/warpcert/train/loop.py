"""train: epochs of steps, kept on disk."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from warpcert.train.accuracy import measure_accuracy
from warpcert.train.arithmetic import fast_arithmetic
from warpcert.train.augment import draw_shifts
from warpcert.train.checkpoint import Checkpoint
from warpcert.train.deck import Deck
from warpcert.train.log import Entry, Log
from warpcert.train.recipe import Recipe
from warpcert.train.recorded import Recorded
from warpcert.train.step import Draw, Step
from warpcert.train.surroundings import Surroundings

_PAUSE = 5.0  # seconds between checkpoints, at least


@dataclass(frozen=True, eq=False)
class Lesson:
    """What is learned: training images, validation images and the threat to each of them.

    ``examined`` is the threat that validation images are certified against, if it is another.
    """

    training: Deck
    validation: Deck
    surroundings: Surroundings
    examined: Surroundings | None = None


def train(
    module: nn.Sequential,
    lesson: Lesson,
    recipe: Recipe,
    folder: Path,
    *,
    eager: bool = False,
    seconds: float = math.inf,
) -> Generator[Entry, None, bool]:
    """Train a network in place, on the device where it and the images are; an entry each epoch.

    The folder gets `log.jsonl` and `checkpoint.pt`; a run that was killed goes on from there when
    it is started again. One that would take more than ``seconds`` from now stops after an epoch
    (at least one), with its checkpoint; what is returned at last says whether it is finished.
    Batches depend on the seed and the epoch alone, so that on a CPU an interrupted run ends with
    the very weights of an unbroken one. ``eager``: on a GPU too, launch kernel by kernel.
    """
    deadline = time.monotonic() + seconds
    folder.mkdir(parents=True, exist_ok=True)
    return (yield from _Run(module, lesson, recipe, folder, eager).epochs(deadline))


class _Run:
    """One run: the module, its optimiser and its clock."""

    def __init__(
        self, module: nn.Sequential, lesson: Lesson, recipe: Recipe, folder: Path, eager: bool
    ) -> None:
        self.module, self.lesson, self.recipe = module, lesson, recipe
        self.on_gpu = lesson.training.images.is_cuda
        self.batch = min(recipe.batch, len(lesson.training))
        self.steps = len(lesson.training) // self.batch
        if self.on_gpu:  # the layout of the convolutions that are fast there
            module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # untyped
        step = Step(module, lesson.training, lesson.surroundings, recipe)
        recordable = self.on_gpu and lesson.surroundings.recordable and not eager
        self.step: Callable[[Draw], Tensor] = Recorded(step) if recordable else step
        self.optimiser = step.optimiser
        self.checkpoint = Checkpoint(folder / "checkpoint.pt", recipe)
        self.log = Log(folder / "log.jsonl")
        self.began = self.saved = time.monotonic()

    def epochs(self, deadline: float) -> Generator[Entry, None, bool]:
        first, seconds = self.checkpoint.load(self.module, self.optimiser)
        self.began -= seconds
        self.log.rewind(first)
        longest = 0.0
        for epoch in range(first, self.recipe.epochs):
            start = time.monotonic()
            if epoch > first and start + longest > deadline:
                self.save(epoch)
                return False
            with fast_arithmetic(self.on_gpu):
                loss = self.epoch(epoch)
                entry = self.entry(epoch, loss)
            self.log.add(entry)
            if epoch + 1 == self.recipe.epochs or time.monotonic() - self.saved >= _PAUSE:
                self.save(epoch + 1)
            longest = max(longest, time.monotonic() - start)
            yield entry
        return True

    def seconds(self) -> float:
        return time.monotonic() - self.began

    def epoch(self, epoch: int) -> float:
        """One pass over the training images; the mean loss."""
        generator = self.generator(epoch)
        self.module.train()
        total = torch.zeros((), device=generator.device)
        for draw in self.draws(epoch, generator):
            total += self.step(draw)
        loss = float(total) / self.steps
        if not math.isfinite(loss):
            raise ArithmeticError(f"training diverged in epoch {epoch}: lower the learning rate")
        return loss

    def generator(self, epoch: int) -> torch.Generator:
        """What is random in an epoch depends on the seed and its number alone."""
        generator = torch.Generator(self.lesson.training.labels.device)
        return generator.manual_seed(self.recipe.seed * 1_000_003 + epoch)

    def draws(self, epoch: int, generator: torch.Generator) -> Iterator[Draw]:
        """Whole batches in a random order; the few images left over wait for another epoch."""
        deck, device = self.lesson.training, generator.device
        count = self.steps * self.batch
        order = torch.randperm(len(deck), generator=generator, device=device)[:count]
        dials = self.dials(epoch).to(device)
        shifts = draw_shifts(count, generator) if self.recipe.augmented else None
        shape = self.lesson.surroundings.moves_shape(deck.images[: self.batch])
        attacks = self.recipe.objective.attacks
        for k in range(self.steps):
            part = slice(k * self.batch, (k + 1) * self.batch)
            moves = None
            if attacks:
                moves = torch.empty(shape, device=device).uniform_(-1, 1, generator=generator)
            yield Draw(order[part], dials[k], None if shifts is None else shifts[part], moves)

    def dials(self, epoch: int) -> Tensor:
        """The moments of an epoch's steps as numbers (steps, 4)."""
        first, whole = epoch * self.steps, self.recipe.epochs * self.steps
        moments = [self.recipe.schedule.at((first + k) / whole) for k in range(self.steps)]
        return torch.tensor(
            [[m.strength, m.kappa, m.beta, m.rate * self.recipe.rate] for m in moments]
        )

    def entry(self, epoch: int, loss: float) -> Entry:
        examined = self.lesson.examined or self.lesson.surroundings
        accuracy = measure_accuracy(self.module, self.lesson.validation, examined)
        progress = (epoch + 1) / self.recipe.epochs
        now = self.recipe.schedule.at(progress)
        return Entry(
            epoch=epoch,
            seconds=round(self.seconds(), 3),
            progress=progress,
            strength=float(now.strength),
            kappa=float(now.kappa),
            loss=loss,
            certified=accuracy.certified,
            correct=accuracy.correct,
            all=accuracy.all,
        )

    def save(self, epoch: int) -> None:
        """Keep the state after this many epochs."""
        self.checkpoint.save(self.module, self.optimiser, epoch, self.seconds())
        self.saved = time.monotonic()
