"""How a run goes on the command line: on which devices, in how many processes, with a display."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpcert.cli.progress import show_progress
from warpcert.cli.refusal import Refusal
from warpcert.cli.screen import printable

if TYPE_CHECKING:
    from warpcert.net import Network
    from warpcert.run import Item, Row, Runner, Shard, Store
    from warpcert.run.decider import Decider
    from warpcert.run.task import Task

ShardOption = Annotated[
    str | None, typer.Option("--shard", metavar="K/N", help="Only the K-th of N shares.")
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        metavar="N",
        help="Processes a device.  [default: with --out one a core, else 1; one a GPU]",
    ),
]
DevicesOption = Annotated[
    str,
    typer.Option("--device", metavar="DEVICES", help="cpu, cuda (all GPUs), or cuda:0,cuda:1."),
]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Folder with whole data sets.")
]


def run(runner: Runner, store: Store | None, items: Sequence[Item]) -> list[Row]:
    """All verdicts on some items, with a display of how far it is."""
    rows = {} if store is None else store.rows
    old = Counter(rows[item.key].status.value for item in items if item.key in rows)
    with show_progress(len(items), old, kept=store is not None) as progress:
        return runner(store, items, progress)


def run_kept(runner: Runner, out: Path, items: Sequence[Item]) -> list[Row]:
    """The same with a results file; what is in it is safe whatever happens."""
    from warpcert.run import Store, StoreError

    try:
        with Store(out, runner.task) as store:
            try:
                return run(runner, store, items)
            except KeyboardInterrupt:
                kept = f"interrupted: {len(store)} verdicts are safe in {out}"
                line = printable(f"warpcert: {kept}, the same command continues")
                print(line, file=sys.stderr)
                raise typer.Exit(130) from None
    except StoreError as error:
        raise Refusal(str(error)) from None


def make_decider(task: Task, network: Network, devices: list[str], *, apart: bool) -> Decider:
    """Who does the work: this process, or one on each device.

    A GPU that fails takes its process along, so a run that is kept has it elsewhere.
    """
    from warpcert.run import Apart, Desk, Here

    if len(devices) > 1 or (apart and devices != ["cpu"]):
        return Apart(task, network, devices)
    return Here(Desk(task, network.to(devices[0])))


def find_devices(text: str) -> list[str]:
    """The devices that a list names; "cuda" is every GPU there is."""
    import torch

    devices = [part.strip() for part in text.split(",")]
    for device in devices:
        try:
            torch.empty(0, device=device)
        except (AssertionError, RuntimeError):  # torch's words for a device it does not have
            raise Refusal(f"--device {device} is not to be had here: try cpu") from None
    if devices == ["cuda"]:
        return [f"cuda:{k}" for k in range(torch.cuda.device_count())]
    return devices


def count_cores() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system tells
        return os.cpu_count() or 1


def parse_shard(text: str) -> Shard:
    """A share of the work, K/N."""
    from warpcert.run import Shard

    try:
        number, count = (int(part) for part in text.split("/"))
        return Shard(number, count)
    except ValueError:
        raise Refusal(f"--shard must be K/N with 1 <= K <= N, got {text!r}") from None
