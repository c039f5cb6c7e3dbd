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
from typing import NoReturn

from warpcert.train.campaign import Campaign
from warpcert.train.plan import Entry, read_plan
from warpcert.train.publish import publish
from warpcert.train.report import counts_text


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Train the networks of a plan, list what is there, publish what is finished; 0 or 2."""
    parser = _Parser("python -m warpcert.train.zoo", description=main.__doc__)
    parser.add_argument("work", choices=["train", "rows", "publish"], metavar="WORK")
    parser.add_argument("plan", type=Path, metavar="PLAN.toml")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--only", metavar="NAMES", help="with commas; a * stands for anything")
    parser.add_argument("--parallel", type=int, default=1, metavar="N", help="runs at a time")
    parser.add_argument("--stop-after", type=float, default=math.inf, metavar="SECONDS")
    parser.add_argument("--root", metavar="DATA")
    parser.add_argument("--device")
    parser.add_argument("--eager", action="store_true")
    chosen = parser.parse_args(arguments)
    try:
        entries = _select(list(read_plan(chosen.plan).values()), chosen.only)
        if chosen.parallel < 1:
            raise ValueError(f"--parallel must be at least 1, got {chosen.parallel}")
        more = ["--eager"] if chosen.eager else []
        for flag in ("root", "device"):
            if getattr(chosen, flag):
                more += [f"--{flag}", getattr(chosen, flag)]
        campaign = Campaign(entries, chosen.out, more)
        {"train": _train, "rows": _rows, "publish": _publish}[chosen.work](campaign, chosen)
    except (ValueError, OSError) as error:
        parser.error(" ".join(str(error).split()))
    return 0


def _train(campaign: Campaign, chosen: argparse.Namespace) -> None:
    campaign.run(chosen.parallel, chosen.stop_after, _say)
    for row in campaign.rows():
        if "test" in row:
            counts = counts_text(row["test"])
            _say(f"{row['name']}: {row['threat']}: certified / correct / all {counts}")
        else:
            _say(f"{row['name']}: {row['state']}")


def _rows(campaign: Campaign, _: argparse.Namespace) -> None:
    for row in campaign.rows():
        _say(json.dumps(row, allow_nan=False))


def _publish(campaign: Campaign, _: argparse.Namespace) -> None:
    for line in publish(campaign):
        _say(line)


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


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
