"""`warpcert certify`: can bending change what a network says of these images?"""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated

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
from warpcert.cli.refusal import Refusal, refusing
from warpcert.cli.running import (
    DataOption,
    DevicesOption,
    ShardOption,
    WorkersOption,
    count_cores,
    find_devices,
    make_decider,
    parse_shard,
    run,
    run_kept,
)
from warpcert.cli.screen import Format, FormatOption, print_json, print_line
from warpcert.cli.threat import Border, BorderOption, Norm, NormOption, make_threat
from warpcert.cli.verdicts import print_summary, report_each

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
    share = None if shard is None else parse_shard(shard)
    network = open_network(net, mean, std, layout, shape, "cpu")
    devices = find_devices(device)
    from warpcert.data import load_images
    from warpcert.run import Gallery, NetworkSource, Runner, Task
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
        gallery = Gallery.of(images, pictures, labels)
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
    each = workers or (count_cores() if out is not None and devices == ["cpu"] else 1)
    decider = make_decider(task, network, devices * each, apart=out is not None)
    runner = Runner(task, gallery, decider)
    items = task.items if share is None else share.select(task.items)
    rows = run(runner, None, items) if out is None else run_kept(runner, out, items)
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
