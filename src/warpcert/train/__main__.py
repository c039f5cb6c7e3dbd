"""`python -m warpcert.train ARCH DATASET ...`: `warpcert train` where only torch is installed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields

import torch

from warpcert.train.command import Parser, say
from warpcert.train.job import run_job
from warpcert.train.options import Options, Place, add_options
from warpcert.train.report import entry_line, summary_lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Train a network and say what it is worth; 0, or 2 and one line after wrong use."""
    parser = _parser()
    chosen = vars(parser.parse_args(arguments))
    chosen["device"] = chosen["device"] or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        options = Options(**{option.name: chosen[option.name] for option in fields(Options)})
        place = Place(**{option.name: chosen[option.name] for option in fields(Place)})
        summary = run_job(options, place, lambda entry: say(entry_line(entry)))
    except (ValueError, ArithmeticError) as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"cannot write to {place.out} ({error.strerror}): make room, then go on")
    if summary is None:
        say("time is up: the same command goes on")
        return 0
    for line in summary_lines(summary):
        say(line)
    return 0


def read_options(words: Sequence[str]) -> Options:
    """The options that the words of a command line say, without a folder."""
    chosen = vars(_parser().parse_args([*words, "--out", "."]))
    return Options(**{option.name: chosen[option.name] for option in fields(Options)})


def _parser() -> Parser:
    parser = Parser("python -m warpcert.train", description=main.__doc__)
    add_options(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
