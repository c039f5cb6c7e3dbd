"""`python -m warpcert.train.zoo`: train the networks of a plan, and publish them.

python -m warpcert.train.zoo train experiments/zoo.toml --out FOLDER --parallel 4
python -m warpcert.train.zoo rows experiments/tradeoff.toml --out FOLDER > rows.jsonl
python -m warpcert.train.zoo publish experiments/zoo.toml --out FOLDER
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from warpcert.data import ZOO
from warpcert.train.campaign import Campaign
from warpcert.train.command import Parser, say
from warpcert.train.plan import Entry, read_plan
from warpcert.train.publish import publish
from warpcert.train.report import counts_text
from warpcert.train.table import write_table


def main(arguments: Sequence[str] | None = None) -> int:
    """Train the networks of a plan, list what is there, publish what is finished."""
    parser = Parser("python -m warpcert.train.zoo", description=main.__doc__)
    works = parser.add_subparsers(dest="work", metavar="WORK", required=True)
    for name, words in WORKS.items():
        work = works.add_parser(name, help=words)
        work.add_argument("plan", type=Path, metavar="PLAN.toml")
        work.add_argument("--out", type=Path, required=True, metavar="FOLDER")
        work.add_argument("--only", metavar="NAMES", help="with commas; a * stands for anything")
        if name == "train":
            _add_training(work)
    table = works.add_parser("table", help="write the tables of the zoo into a page")
    table.add_argument("page", type=Path, metavar="PAGE.md")
    chosen = parser.parse_args(arguments)
    try:
        {"train": _train, "rows": _rows, "publish": _publish, "table": _table}[chosen.work](chosen)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    return 0


WORKS = {
    "train": "train what is not finished",
    "rows": "print a line of JSON for every run",
    "publish": "put the finished networks into the package",
}


def _add_training(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--parallel", type=int, default=1, metavar="N", help="runs at a time")
    parser.add_argument("--stop-after", type=float, default=math.inf, metavar="SECONDS")
    parser.add_argument("--data", "--root", dest="root", metavar="DIR")
    parser.add_argument("--device")
    parser.add_argument("--eager", action="store_true")


def _campaign(chosen: argparse.Namespace, more: Sequence[str] = ()) -> Campaign:
    entries = _select(list(read_plan(chosen.plan).values()), chosen.only)
    return Campaign(entries, chosen.out, more)


def _train(chosen: argparse.Namespace) -> None:
    if chosen.parallel < 1:
        raise ValueError(f"--parallel must be at least 1, got {chosen.parallel}")
    more = ["--eager"] if chosen.eager else []
    for flag in ("root", "device"):
        if getattr(chosen, flag):
            more += [f"--{flag}", getattr(chosen, flag)]
    campaign = _campaign(chosen, more)
    campaign.run(chosen.parallel, chosen.stop_after, say)
    for row in campaign.rows():
        if "test" in row:
            counts = counts_text(row["test"])
            say(f"{row['name']}: {row['threat']}: certified / correct / all {counts}")
        else:
            say(f"{row['name']}: {row['state']}")


def _rows(chosen: argparse.Namespace) -> None:
    for row in _campaign(chosen).rows():
        say(json.dumps(row, allow_nan=False))


def _publish(chosen: argparse.Namespace) -> None:
    for line in publish(_campaign(chosen)):
        say(line)


def _table(chosen: argparse.Namespace) -> None:
    write_table(chosen.page, ZOO)


def _select(entries: list[Entry], only: str | None) -> list[Entry]:
    """Those that match one of some patterns."""
    if only is None:
        return entries
    patterns = [part.strip() for part in only.split(",")]
    for pattern in patterns:
        if not any(Path(entry.name).match(pattern) for entry in entries):
            names = ", ".join(entry.name for entry in entries)
            raise ValueError(f"--only {pattern}: the plan has {names}")
    return [e for e in entries if any(Path(e.name).match(pattern) for pattern in patterns)]


if __name__ == "__main__":
    sys.exit(main())
