"""Options: all that a run of training can be told, and the command line that says it."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path

from warpcert.data import DATASETS
from warpcert.train.architecture import ARCHITECTURES
from warpcert.train.attack import Attack
from warpcert.train.objective import OBJECTIVES
from warpcert.train.recipe import Recipe
from warpcert.train.schedule import SHAPES, Schedule
from warpcert.train.surroundings import Ball, Bending, BentGrey, Surroundings

PHOTOS = frozenset({"cifar10"})
"""Data sets that are augmented unless told otherwise: a mirrored digit is another digit."""


NORMS = {"1": 1.0, "2": 2.0, "inf": math.inf}


@dataclass(frozen=True)
class Options:
    """One run; the threat is ``radius`` (an L-inf ball) or ``delta`` (bending, in ``norm``).

    Numbers that may be fractions are text. On the command line a radius is called eps.
    """

    arch: str
    dataset: str
    epochs: int
    radius: str | None = None
    delta: str | None = None
    norm: str = "inf"
    train_radius: str | None = None
    train_delta: str | None = None
    loss: str = "ibp"
    batch: int = 256
    rate: float = 1e-3
    schedule: str = "linear"
    decay: float = 0.6
    lowest: str = "1e-8"
    warm: float | None = None
    ramp: float | None = None
    kappa: float = 0.5
    small: float = 0.4
    attack_steps: int = 8
    attack_size: float = 0.25
    l1: float = 0.0
    regulariser: float = 0.0
    clip: float = 8.0
    augment: bool | None = None
    validation: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.arch not in ARCHITECTURES:
            names = ", ".join(ARCHITECTURES)
            raise ValueError(f"no architecture is named {self.arch!r}: use one of {names}")
        if self.dataset not in DATASETS:
            names = ", ".join(DATASETS)
            raise ValueError(f"no data set is named {self.dataset!r}: use one of {names}")
        if (self.radius is None) == (self.delta is None):
            raise ValueError("give either --eps (an L-inf ball) or --delta (bending)")
        if self.radius is None and self.train_radius is not None:
            raise ValueError("--train-eps goes with --eps, --train-delta with --delta")
        if self.delta is None and self.train_delta is not None:
            raise ValueError("--train-delta goes with --delta, --train-eps with --eps")
        if self.norm not in NORMS:
            raise ValueError(f"--norm must be 1, 2 or inf, got {self.norm!r}")
        _ = self.recipe, self.examined, self.learned  # they have checks of their own

    @property
    def examined(self) -> Surroundings:
        """The threat that the network is judged by."""
        return self._threat(self.radius, self.delta)

    @property
    def learned(self) -> Surroundings:
        """The threat that it is trained against."""
        return self._threat(self.train_radius or self.radius, self.train_delta or self.delta)

    def _threat(self, eps: str | None, delta: str | None) -> Surroundings:
        if eps is not None:
            return Ball(number("--eps", eps, 1.0))
        kind = BentGrey if DATASETS[self.dataset].shape[0] == 1 else Bending
        return kind(NORMS[self.norm], number("--delta", delta or "", 100.0))

    @property
    def recipe(self) -> Recipe:
        """How it is trained."""
        if self.epochs < 1:
            raise ValueError(f"epochs must be at least 1, got {self.epochs}")
        usual = Schedule()
        warm = usual.warm if self.warm is None else self.warm / self.epochs
        full = usual.full if self.ramp is None else warm + self.ramp / self.epochs
        schedule = Schedule(
            warm=warm,
            full=full,
            decay=self.decay,
            last_kappa=self.kappa,
            shape=self.schedule,
            lowest=number("--lowest", self.lowest, self.rate) / self.rate if self.rate > 0 else 0.0,
        )
        augmented = self.dataset in PHOTOS if self.augment is None else self.augment
        return Recipe(
            epochs=self.epochs,
            batch=self.batch,
            seed=self.seed,
            rate=self.rate,
            clip=self.clip,
            augmented=augmented,
            loss=self.loss,
            l1=self.l1,
            regulariser=self.regulariser,
            small=self.small,
            attack=Attack(self.attack_steps, self.attack_size),
            schedule=schedule,
            title=f"{self.arch}, {self.dataset}, {self.learned.title}, {self.validation}",
        )

    @property
    def words(self) -> list[str]:
        """The words of the command line that say the same."""
        words = [self.arch, self.dataset]
        for option in fields(self)[2:]:
            value = getattr(self, option.name)
            if value == option.default:
                continue
            flag = flag_of(option.name)
            if isinstance(value, bool):
                words.append(f"--{flag}" if value else f"--no-{flag}")
            else:
                words += [f"--{flag}", f"{value:.15g}" if isinstance(value, float) else str(value)]
        return words

    @property
    def command(self) -> str:
        """The command line that says the same, without folders and devices."""
        return shlex.join(["warpcert", "train", *self.words])


def flag_of(name: str) -> str:
    """What an option is called on the command line."""
    return name.replace("radius", "eps").replace("_", "-")


def number(name: str, text: str, most: float) -> float:
    """A number from 0 to ``most``, also as a fraction such as 8/255."""
    try:
        value = float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{name}: {text!r} is no number such as 0.3 or 8/255") from None
    if not 0 <= value <= most:
        raise ValueError(f"{name}: {text} is not between 0 and {most:g}")
    return value


@dataclass(frozen=True)
class Place:
    """Where a run reads, writes and computes: nothing of it changes what is learned."""

    out: Path
    root: str | None = None
    device: str = "cpu"
    eager: bool = False
    stop_after: float = math.inf

    def __post_init__(self) -> None:
        if not self.stop_after > 0:
            raise ValueError(f"--stop-after must be positive, got {self.stop_after}")


def add_options(parser: argparse.ArgumentParser) -> None:
    """All of `Options` and `Place`."""
    defaults = {option.name: option.default for option in fields(Options)}

    def add(flag: str, words: str, kind: Callable[[str], object]) -> None:
        (name,) = (name for name in defaults if f"--{flag_of(name)}" == flag)
        shown = defaults[name]
        hint = "" if shown is None else f" [default: {shown}]"
        parser.add_argument(flag, dest=name, type=kind, default=shown, help=words + hint)

    parser.add_argument("arch", metavar="ARCH", help=", ".join(ARCHITECTURES))
    parser.add_argument("dataset", metavar="DATASET", help=", ".join(DATASETS))
    parser.add_argument("--epochs", type=int, required=True)
    for flag, words, kind in HELP:
        add(flag, words, kind)
    parser.add_argument("--augment", action=argparse.BooleanOptionalAction, default=None)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help=OUT_HELP)
    parser.add_argument("--data", "--root", dest="root", metavar="DIR", help=DATA_HELP)
    parser.add_argument("--device", help="cpu or cuda [default: cuda where there is one]")
    parser.add_argument("--eager", action="store_true", help=EAGER_HELP)
    parser.add_argument("--stop-after", type=float, default=math.inf, help=STOP_HELP)


OUT_HELP = "for checkpoint, log, weights and network; the same command goes on with it"
EAGER_HELP = "on a GPU, launch kernel by kernel instead of a recorded step"
STOP_HELP = "seconds after which to stop with a checkpoint; the same command goes on"
DATA_HELP = "folder with whole data sets"

HELP: tuple[tuple[str, str, Callable[[str], object]], ...] = (
    ("--eps", "L-inf radius to be judged by, such as 0.3 or 8/255", str),
    ("--delta", "longest displacement to be judged by, in pixels", str),
    ("--norm", "of a displacement: 1, 2 or inf", str),
    ("--train-eps", "train for another radius", str),
    ("--train-delta", "train for another displacement", str),
    ("--loss", ", ".join(OBJECTIVES), str),
    ("--batch", "images a step", int),
    ("--rate", "Adam's learning rate", float),
    ("--schedule", f"of the rate: {', '.join(SHAPES)}", str),
    ("--decay", "from which part of the run on the rate falls", float),
    ("--lowest", "rate at both ends of a cyclic schedule", str),
    ("--warm", "epochs before the box begins to grow", float),
    ("--ramp", "epochs in which it grows", float),
    ("--kappa", "weight of images, clean or attacked, at last", float),
    ("--small", "sabr: part of the box's width", float),
    ("--attack-steps", "steps of an attack", int),
    ("--attack-size", "their size, in parts of the threat's reach", float),
    ("--l1", "weight of the sum of the sizes of weights", float),
    ("--regulariser", "weight of tight boxes and balanced ReLUs at first", float),
    ("--clip", "longest gradient", float),
    ("--validation", "training images kept for validation", int),
    ("--seed", "of everything random", int),
)
