"""`warpcert certify`: can bending change what a network says of these images?"""

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpcert.cli.names import name_images
from warpcert.cli.network import (
    Layout,
    LayoutOption,
    MeanOption,
    NetworkArgument,
    ShapeOption,
    StdOption,
    open_network,
)
from warpcert.cli.progress import show_progress
from warpcert.cli.refusal import Refusal, refusing
from warpcert.cli.screen import Format, FormatOption, print_json, print_line, printable
from warpcert.cli.threat import Border, BorderOption, Norm, NormOption, make_threat
from warpcert.cli.verdicts import print_summary, report_each

if TYPE_CHECKING:
    from warpcert.net import Network
    from warpcert.run import Row, Runner, Shard, Store
    from warpcert.run.decider import Decider
    from warpcert.run.task import Task

CERTIFY_EXAMPLES = """\b
Examples:
  warpcert certify net.onnx --images mnist:0-9 --norm inf --delta 0.3
  warpcert certify net.onnx --images mnist --delta 0.3,0.4 --gamma 0.1 --out r.jsonl
  warpcert certify net.onnx --images cifar10:0-9 --delta 0.4 --gamma 0.1 --method alpha
  warpcert certify net.onnx --images photos.npz --mean 0.49,0.48,0.45 --std 0.25,0.24,0.26
"""


class Method(StrEnum):
    """The ways to a proof."""

    AUTO = "auto"
    INTERVAL = "interval"
    DEEPPOLY = "deeppoly"
    ALPHA = "alpha"
    LP = "lp"
    KRELU = "krelu"
    MILP = "milp"
    COMPLETE = "complete"
    ATTACK = "attack"


class Relaxation(StrEnum):
    """The sets that bent images are enclosed in."""

    HULL = "hull"
    PLANES = "planes"
    BOX = "box"


class Solver(StrEnum):
    """Who solves programs."""

    HIGHS = "highs"
    SCIP = "scip"
    GUROBI = "gurobi"


ImagesOption = Annotated[
    str,
    typer.Option("--images", metavar="SPEC", help="Such as mnist:0-9, or an .npz with labels."),
]
DeltasOption = Annotated[
    list[str] | None,
    typer.Option(
        "--delta",
        metavar="NUMBERS",
        help="Longest displacement, in pixels; several are all tried.  [default: 0.5]",
    ),
]
GammasOption = Annotated[
    list[str] | None,
    typer.Option(
        "--gamma",
        metavar="NUMBERS",
        help="Largest difference between neighbours, likewise.  [default: inf]",
    ),
]
LabelOption = Annotated[
    int | None, typer.Option("--label", metavar="K", help="The class of images that have none.")
]
MethodOption = Annotated[
    Method,
    typer.Option("--method", help="auto: cheap ones, then complete; attack: only look for fields."),
]
RelaxationOption = Annotated[
    Relaxation, typer.Option("--relaxation", help="planes: as published, by linear programs.")
]
SolverOption = Annotated[
    Solver, typer.Option("--solver", help="For lp and milp; scip and gurobi are extras.")
]
TimeoutOption = Annotated[
    str | None, typer.Option("--timeout", metavar="SECONDS", help="The most for one image.")
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FILE", help="Keep every verdict as a JSON line; the same again continues."
    ),
]
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


def certify(
    net: NetworkArgument,
    images: ImagesOption,
    norm: NormOption = Norm.INF,
    delta: DeltasOption = None,
    gamma: GammasOption = None,
    border: BorderOption = Border.CLAMP,
    method: MethodOption = Method.AUTO,
    relaxation: RelaxationOption = Relaxation.HULL,
    solver: SolverOption = Solver.HIGHS,
    timeout: TimeoutOption = None,
    out: OutOption = None,
    shard: ShardOption = None,
    label: LabelOption = None,
    mean: MeanOption = None,
    std: StdOption = None,
    layout: LayoutOption = Layout.NCHW,
    shape: ShapeOption = None,
    device: DevicesOption = "cpu",
    workers: WorkersOption = None,
    form: FormatOption = Format.TEXT,
    data: DataOption = None,
) -> None:
    """Prove that bending cannot change a network's answer, image by image.

    Every pixel moves by at most DELTA, and neighbours differ by at most GAMMA.
    """
    threats = [
        make_threat(norm, one, other, border)
        for one in _parts(delta or ["0.5"])
        for other in _parts(gamma or ["inf"])
    ]
    limit = None if timeout is None else _seconds(timeout)
    share = None if shard is None else _shard(shard)
    network = open_network(net, mean, std, layout, shape, "cpu")
    devices = _devices(device)
    from warpcert.data import load_images
    from warpcert.run import Gallery, NetworkSource, Runner, Task, find_indices
    from warpcert.run.source import hash_network
    from warpcert.verify import check_problem

    with refusing():
        pictures, labels = load_images(images, root=data)
        if label is not None:
            labels = labels.where(labels >= 0, label)
    if bool((labels < 0).any()):
        raise Refusal(f"{images} has no labels: give the class with --label K")
    named = name_images(images, labels)
    with refusing():
        check_problem(network, pictures, labels)
        gallery = Gallery(
            images,
            pictures,
            labels,
            find_indices(images, len(labels)),
            tuple(name.image for name in named),
        )
        source = NetworkSource(
            net,
            hash_network(net),
            None if mean is None else tuple(map(float, mean.split(","))),
            None if std is None else tuple(map(float, std.split(","))),
            layout.value,
            None if shape is None else tuple(map(int, shape.split(","))),
        )
        task = Task.of(
            source,
            gallery,
            threats,
            method.value,
            relaxation=relaxation.value,
            timeout=limit,
            solver=solver.value,
        )
        _check_solver(method, solver)
    each = workers or (_cores() if out is not None and devices == ["cpu"] else 1)
    decider = _decider(task, network, devices * each, apart=out is not None)
    runner = Runner(task, gallery, decider)
    rows = _run(runner, None, share) if out is None else _run_kept(runner, out, share)
    meanings = {name.image: name.meaning for name in named}
    reports = report_each(net, task.threats, rows, meanings)
    if out is not None:
        summary = [report.summary_json for report in reports]
        if form is Format.JSON:
            head = {"network": net, "task": task.digest, "out": str(out), "verdicts": len(rows)}
            print_json({**head, "summary": summary})
            return
        print_line(f"{task}")
        print_summary(reports)
        print_line(f"{out}: {len(rows)} verdicts")
    elif form is Format.JSON:
        print_json(reports[0].json if len(reports) == 1 else [report.json for report in reports])
    else:
        for report in reports:
            report.print()
        if len(reports) > 1:
            print_summary(reports)


def _check_solver(method: Method, solver: Solver) -> None:
    """Refuse a solver that is not asked, or not there."""
    if solver is Solver.HIGHS:
        return
    if method not in (Method.LP, Method.MILP):
        raise Refusal(f"--solver {solver} is for --method lp and milp, got --method {method}")
    from warpcert.solve import engine

    missing = engine(solver.value).missing()
    if missing:
        raise Refusal(f"--solver {solver}: {missing}")


def _run(runner: Runner, store: Store | None, shard: Shard | None) -> list[Row]:
    """All verdicts of the shard, with a display of how far it is."""
    items = runner.task.items if shard is None else shard.select(runner.task.items)
    rows = {} if store is None else store.rows
    old = Counter(rows[item.key].status.value for item in items if item.key in rows)
    with show_progress(len(items), old, kept=store is not None) as progress:
        return runner(store, shard, progress)


def _run_kept(runner: Runner, out: Path, shard: Shard | None) -> list[Row]:
    """The same with a results file; what is in it is safe whatever happens."""
    from warpcert.run import Store, StoreError

    try:
        with Store(out, runner.task) as store:
            try:
                return _run(runner, store, shard)
            except KeyboardInterrupt:
                kept = f"interrupted: {len(store)} verdicts are safe in {out}"
                line = printable(f"warpcert: {kept}, the same command continues")
                print(line, file=sys.stderr)
                raise typer.Exit(130) from None
    except StoreError as error:
        raise Refusal(str(error)) from None


def _decider(task: Task, network: Network, devices: list[str], *, apart: bool) -> Decider:
    """Who does the work: this process, or one on each device.

    A GPU that fails takes its process along, so a run that is kept has it elsewhere.
    """
    from warpcert.run import Apart, Desk, Here

    if len(devices) > 1 or (apart and devices != ["cpu"]):
        return Apart(task, network, devices)
    return Here(Desk(task, network.to(devices[0])))


def _devices(text: str) -> list[str]:
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


def _cores() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system tells
        return os.cpu_count() or 1


def _parts(texts: list[str]) -> list[str]:
    """The parts of lists with commas, each once."""
    return list(dict.fromkeys(part.strip() for text in texts for part in text.split(",")))


def _seconds(text: str) -> float | None:
    """A time limit; an infinite one is none."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise Refusal(f"--timeout must be a number of seconds > 0, got {text!r}")
    return None if seconds == math.inf else seconds


def _shard(text: str) -> Shard:
    from warpcert.run import Shard

    try:
        number, count = (int(part) for part in text.split("/"))
        return Shard(number, count)
    except ValueError:
        raise Refusal(f"--shard must be K/N with 1 <= K <= N, got {text!r}") from None
