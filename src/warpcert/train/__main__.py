"""`python -m warpcert.train ARCH DATASET ...`: train a network from the command line."""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

import torch
from torch import nn

from warpcert.data import open_shelf
from warpcert.train.accuracy import Accuracy, measure_accuracy
from warpcert.train.architecture import ARCHITECTURES
from warpcert.train.deck import Deck, load_deck
from warpcert.train.loop import Lesson, train
from warpcert.train.prepare import prepare
from warpcert.train.recipe import Recipe
from warpcert.train.schedule import Schedule
from warpcert.train.surroundings import Ball
from warpcert.train.weights import save_weights

_PHOTOS = frozenset({"cifar10"})  # a mirrored digit is another digit


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, write weights and log, say the test accuracies; 0, 1 (diverged) or 2 (wrong use)."""
    parser = _options()
    chosen = parser.parse_args(arguments)
    try:
        _run(chosen)
    except ValueError as error:
        parser.error(" ".join(str(error).split()))
    except ArithmeticError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    return 0


def _options() -> _Parser:
    parser = _Parser("python -m warpcert.train", description=main.__doc__)
    parser.add_argument("arch", choices=list(ARCHITECTURES), metavar="ARCH")
    parser.add_argument("dataset", metavar="DATASET", help="mnist, cifar10 or fashion")
    parser.add_argument(
        "--eps", dest="radius", type=_number, required=True, help="such as 0.3 or 8/255"
    )
    parser.add_argument(
        "--train-eps", dest="train_radius", type=_number, help="train for another radius"
    )
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--root", metavar="DATA", help="folder with the data sets")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rate", type=float, default=1e-3, help="Adam's learning rate")
    parser.add_argument("--kappa", type=float, default=0.5, help="weight of clean images at last")
    parser.add_argument("--validation", type=int, default=2000, metavar="IMAGES")
    parser.add_argument(
        "--limit-seconds",
        dest="seconds",
        type=float,
        help="for the training alone; the schedule is hurried to end in time",
    )
    return parser


def _run(chosen: argparse.Namespace) -> None:
    device = _device(chosen.device)
    ball = Ball(chosen.radius)
    learned = ball if chosen.train_radius is None else Ball(chosen.train_radius)
    recipe = Recipe(
        epochs=chosen.epochs,
        batch=chosen.batch,
        seed=chosen.seed,
        rate=chosen.rate,
        augmented=chosen.dataset in _PHOTOS,
        seconds=chosen.seconds,
        schedule=Schedule(last_kappa=chosen.kappa),
        title=f"{chosen.arch}, {chosen.dataset}, {learned.radius}, {chosen.validation}",
    )
    classes = len(open_shelf(chosen.dataset, chosen.root).dataset.classes)
    images = load_deck(chosen.dataset, "train", chosen.root).to(device)
    lesson = _lesson(images, chosen.validation, learned)
    module = prepare(chosen.arch, lesson.training, classes, chosen.seed).to(device)
    for entry in train(module, lesson, recipe, chosen.out):
        _say(
            f"epoch {entry.epoch}: {entry.seconds:.1f} s, loss {entry.loss:.4f}, "
            f"strength {entry.strength:.3f}, validation {entry.clean:.2%} right, "
            f"{entry.certified:.2%} certified"
        )
    save_weights(module, chosen.out / "weights.npz")
    accuracy = _test(module, load_deck(chosen.dataset, "test", chosen.root).to(device), ball)
    _say(
        f"test: {accuracy.clean:.2%} right, "
        f"{accuracy.certified:.2%} certified by intervals at eps {ball.radius:.6g}"
    )


def _lesson(images: Deck, validation: int, ball: Ball) -> Lesson:
    """Some training images, drawn at random and always the same, are for validation alone.

    Drawn, because MNIST is not shuffled: its last images are easier, and so is every other one.
    """
    if not 0 < validation < len(images):
        raise ValueError(f"--validation must be between 1 and {len(images) - 1}, got {validation}")
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    order = order.to(images.labels.device)
    return Lesson(images.take(order[validation:]), images.take(order[:validation]), ball)


def _test(module: nn.Sequential, deck: Deck, ball: Ball) -> Accuracy:
    """The accuracies of the weights as written, in float64, which knows no TF32."""
    exact = copy.deepcopy(module).double()
    exact.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]  # untyped
    return measure_accuracy(exact, deck, ball)


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.zeros((), device=device)
    except (RuntimeError, AssertionError):
        raise ValueError(f"--device {name} is not at hand: use cpu or cuda") from None
    return device


def _number(text: str) -> float:
    """A number between 0 and 1, also as a fraction such as 8/255."""
    try:
        value = float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(f"{text!r} is no number such as 0.3 or 8/255") from None
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
