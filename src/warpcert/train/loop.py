"""train: certified training by interval propagation."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from warpcert.train.accuracy import measure_accuracy
from warpcert.train.arithmetic import fast_arithmetic
from warpcert.train.augment import augment
from warpcert.train.checkpoint import Checkpoint
from warpcert.train.deck import Deck
from warpcert.train.log import Entry, Log
from warpcert.train.loss import robust_loss
from warpcert.train.recipe import Recipe
from warpcert.train.surroundings import Surroundings

_PAUSE = 5.0  # seconds between checkpoints, at least


@dataclass(frozen=True, eq=False)
class Lesson:
    """What is learned: training images, validation images and the box around each of them."""

    training: Deck
    validation: Deck
    surroundings: Surroundings


def train(
    module: nn.Sequential, lesson: Lesson, recipe: Recipe, folder: Path
) -> Generator[Entry, None, None]:
    """Train a network in place, on the device where it and the images are; an entry each epoch.

    The folder gets `log.jsonl` and `checkpoint.pt`; a run that was killed goes on from there when
    it is started again. Batches depend on the seed and the epoch alone, so that on a CPU, and
    without a limit of seconds, an interrupted run ends with the very weights of an unbroken one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    yield from _Run(module, lesson, recipe, folder).epochs()


class _Run:
    """One run: the module, its optimiser and its clock."""

    def __init__(self, module: nn.Sequential, lesson: Lesson, recipe: Recipe, folder: Path) -> None:
        self.module, self.lesson, self.recipe = module, lesson, recipe
        self.on_gpu = lesson.training.images.is_cuda
        self.batch = min(recipe.batch, len(lesson.training))
        self.steps = len(lesson.training) // self.batch
        if self.on_gpu:  # the layout of the convolutions that are fast there
            module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # untyped
        self.optimiser = torch.optim.Adam(
            module.parameters(), lr=recipe.rate, fused=True if self.on_gpu else None
        )
        self.checkpoint = Checkpoint(folder / "checkpoint.pt", recipe)
        self.log = Log(folder / "log.jsonl")
        self.began = self.saved = time.monotonic()

    def epochs(self) -> Iterator[Entry]:
        first, seconds = self.checkpoint.load(self.module, self.optimiser)
        self.began -= seconds
        self.log.rewind(first)
        for epoch in range(first, self.recipe.epochs):
            if self.progress(epoch * self.steps) >= 1:
                break
            with fast_arithmetic(self.on_gpu):
                loss = self.epoch(epoch)
                entry = self.entry(epoch, loss)
            self.log.add(entry)
            self.save(epoch + 1)
            yield entry

    def progress(self, step: int) -> float:
        """How much of the run is behind, by the steps or, where it is further, by the clock."""
        done = step / (self.recipe.epochs * self.steps)
        if self.recipe.seconds is None:
            return done
        return max(done, self.seconds() / self.recipe.seconds)

    def seconds(self) -> float:
        return time.monotonic() - self.began

    def epoch(self, epoch: int) -> float:
        """One pass over the training images, or until time is up; the mean loss."""
        generator = torch.Generator(self.lesson.training.labels.device)
        generator.manual_seed(self.recipe.seed * 1_000_003 + epoch)
        losses: list[Tensor] = []
        self.module.train()
        for step, deck in enumerate(self.batches(generator), start=epoch * self.steps):
            progress = self.progress(step)
            losses.append(self.step(deck, progress))
            if progress >= 1:
                break
        loss = float(torch.stack(losses).mean())
        if not math.isfinite(loss):
            raise ArithmeticError(f"training diverged in epoch {epoch}: lower the learning rate")
        return loss

    def batches(self, generator: torch.Generator) -> Iterator[Deck]:
        """Whole batches in a random order; the few images left over wait for another epoch."""
        deck = self.lesson.training
        order = torch.randperm(len(deck), generator=generator, device=deck.labels.device)
        for which in order[: self.steps * self.batch].split(self.batch):
            part = deck.take(which)
            if self.recipe.augmented:
                part = Deck(augment(part.images, generator), part.labels)
            yield part

    def step(self, deck: Deck, progress: float) -> Tensor:
        """One step of the optimiser; its loss, still on the device."""
        schedule = self.recipe.schedule
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.rate * schedule.rate(progress)
        images = deck.floats()
        if self.on_gpu:
            images = images.contiguous(memory_format=torch.channels_last)
        box = self.lesson.surroundings(images, schedule.strength(progress))
        loss = robust_loss(self.module, images, box, deck.labels, schedule.kappa(progress)).total
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.module.parameters(), self.recipe.clip)
        self.optimiser.step()
        return loss.detach()

    def entry(self, epoch: int, loss: float) -> Entry:
        accuracy = measure_accuracy(self.module, self.lesson.validation, self.lesson.surroundings)
        progress = min(1.0, self.progress((epoch + 1) * self.steps))
        return Entry(
            epoch=epoch,
            seconds=round(self.seconds(), 3),
            progress=progress,
            strength=self.recipe.schedule.strength(progress),
            kappa=self.recipe.schedule.kappa(progress),
            loss=loss,
            clean=accuracy.clean,
            certified=accuracy.certified,
        )

    def save(self, epoch: int) -> None:
        """Keep the state after this many epochs, if the last one kept is old or this is the end."""
        ending = self.progress(epoch * self.steps) >= 1
        if ending or time.monotonic() - self.saved >= _PAUSE:
            self.checkpoint.save(self.module, self.optimiser, epoch, self.seconds())
            self.saved = time.monotonic()
