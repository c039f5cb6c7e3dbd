"""`warpcert reproduce`: the paper's tables and figures, and what goes beyond them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpcert.cli.refusal import Refusal, refusing
from warpcert.cli.running import (
    DataOption,
    DevicesOption,
    ShardOption,
    WorkersOption,
    count_cores,
    find_devices,
    parse_shard,
    run_kept,
)
from warpcert.cli.save import save_figure, whole_file
from warpcert.cli.screen import print_line, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warpcert.experiments import Plan, Selection, Shown, Workshop
    from warpcert.experiments.run import Run
    from warpcert.run import Item, Runner

REPRODUCE_EXAMPLES = """\b
Examples:
  warpcert reproduce --list
  warpcert reproduce --quick
  warpcert reproduce table1 --images 20 --device cuda
  warpcert reproduce table1 --network mnist-convsmall-ibp --engine auto
"""

NamesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME...]", help="What to reproduce; see --list.")
]
OutOption = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder for rows and pictures; it is resumed.")
]
ListOption = Annotated[bool, typer.Option("--list", help="Say what there is, and stop.")]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="Only a part: all together ten minutes on two cores.")
]
ShowOption = Annotated[bool, typer.Option("--show", help="Run nothing, show what is there.")]
ImagesOption = Annotated[
    int | None, typer.Option("--images", min=1, metavar="N", help="The first N of each cell.")
]
NetworkOption = Annotated[
    list[str] | None, typer.Option("--network", metavar="NAME", help="Only this; repeatable.")
]
EngineOption = Annotated[
    list[str] | None, typer.Option("--engine", metavar="NAME", help="Only this; repeatable.")
]
NetworksOption = Annotated[
    Path | None, typer.Option("--networks", metavar="DIR", help="Folder with others' networks.")
]
DeltaOption = Annotated[
    str | None, typer.Option("--delta", metavar="PIXELS", help="Only these, as in 0.3,0.5.")
]
GammaOption = Annotated[
    str | None, typer.Option("--gamma", metavar="PIXELS", help="Only these, as in inf,0.1.")
]
PackOption = Annotated[
    Path | None, typer.Option("--pack", metavar="DIR", help="Keep the rows compressed there, too.")
]
PageOption = Annotated[
    Path | None, typer.Option("--page", metavar="FILE", help="A page of all that is there.")
]


def reproduce(
    names: NamesArgument = None,
    listed: ListOption = False,
    quick: QuickOption = False,
    shown: ShowOption = False,
    out: OutOption = Path("reproduced"),
    images: ImagesOption = None,
    network: NetworkOption = None,
    engine: EngineOption = None,
    delta: DeltaOption = None,
    gamma: GammaOption = None,
    shard: ShardOption = None,
    device: DevicesOption = "cpu",
    workers: WorkersOption = None,
    data: DataOption = None,
    networks: NetworksOption = None,
    pack: PackOption = None,
    page: PageOption = None,
) -> None:
    """Make the tables and figures of the paper, and those that go beyond it.

    Rows are kept as they come, and the same command continues; a larger one builds on a smaller.
    """
    from warpcert import experiments

    if listed:
        _list()
        return
    if not names and not quick and not shown:
        raise Refusal("say what to reproduce ('warpcert reproduce --list' names it), or --quick")
    with refusing():
        plans = [experiments.load(name) for name in names or experiments.names()]
    if shown and not out.is_dir():
        raise Refusal(f"there are no rows in {out}: name their folder with --out")
    devices = find_devices(device)
    share = parse_shard(shard) if shard is not None else experiments.ALL.shard
    workshop = experiments.Workshop(out, data, networks)
    deltas, gammas = _numbers("--delta", delta), _numbers("--gamma", gamma)
    found: dict[str, Shown] = {}
    for plan in plans:
        base = plan.quick if quick else experiments.ALL
        chosen = replace(
            base,
            images=images if images is not None else base.images,
            networks=tuple(network) if network else base.networks,
            engines=tuple(engine) if engine else base.engines,
            deltas=deltas or base.deltas,
            gammas=gammas or base.gammas,
            shard=share,
        )
        _check(plan, chosen)
        if not shown:
            each = workers or (count_cores() if devices == ["cpu"] else 1)
            _run(plan, workshop, chosen, devices * each)
            _measure(plan, workshop, devices[0], quick=quick)
        with refusing():  # rows may have been changed by hand
            found[plan.name] = _show(plan, workshop, keep=not shown)
            if pack is not None:
                experiments.pack(plan, workshop, experiments.Workshop(pack))
    if page is not None:
        with whole_file(page) as stream:
            stream.write(experiments.write_page(workshop, page, found).encode("utf-8"))


def _list() -> None:
    """What there is, and what of it the paper has."""
    from warpcert import experiments

    plans = [experiments.load(name) for name in experiments.names()]
    print_table(
        {"name": "left", "what": "left", "in the paper": "left", "shows rows of": "left"},
        [(plan.name, plan.title, plan.paper or "–", plan.rows_of) for plan in plans],
    )


def _check(plan: Plan, chosen: Selection) -> None:
    """Refuse names that a plan does not know."""
    names: tuple[tuple[str, tuple[str, ...] | None, set[str]], ...] = (
        ("--network", chosen.networks, {run.network for run in plan.runs}),
        ("--engine", chosen.engines, {run.engine.name for run in plan.runs}),
        ("--delta", _words(chosen.deltas), {f"{d:g}" for run in plan.runs for d in run.deltas}),
        ("--gamma", _words(chosen.gammas), {f"{g:g}" for run in plan.runs for g in run.gammas}),
    )
    for option, asked, known in names:
        for name in asked or ():
            if known and name not in known:
                raise Refusal(f"{option} {name}: {plan.name} has {', '.join(sorted(known))}")


def _words(numbers: tuple[float, ...] | None) -> tuple[str, ...] | None:
    return None if numbers is None else tuple(f"{number:g}" for number in numbers)


def _numbers(option: str, text: str | None) -> tuple[float, ...] | None:
    """Numbers with commas between them."""
    try:
        return None if text is None else tuple(float(part) for part in text.split(","))
    except ValueError:
        raise Refusal(f"{option} must be numbers with commas, got {text!r}") from None


def _run(plan: Plan, workshop: Workshop, chosen: Selection, devices: Sequence[str]) -> None:
    def go(run: Run, runner: Runner, path: Path, items: Sequence[Item]) -> None:
        print_line(f"{plan.name}: {run.subject.shown}, {run.engine.shown} ({path})")
        run_kept(runner, path, items)

    try:
        with refusing():
            workshop.run(plan, chosen, devices, go)
    except OSError as error:
        raise Refusal(f"{workshop.folder} cannot be written ({error.strerror})") from None


def _measure(plan: Plan, workshop: Workshop, device: str, *, quick: bool) -> None:
    if not plan.measure:
        return

    def tell(line: str) -> None:
        print(f"warpcert: {plan.name}: {line}", file=sys.stderr, flush=True)

    with refusing():
        workshop.measure(plan, device, quick=quick, listener=tell)


def _show(plan: Plan, workshop: Workshop, *, keep: bool) -> Shown:
    """Print the tables, and keep the pictures and, after a run, the tables beside the rows."""
    from warpcert.experiments import show, write_section

    found = show(plan, workshop)
    text = write_section(plan, found)
    print(text)
    if keep:
        with whole_file(workshop.folder / f"{plan.name}.md") as stream:
            stream.write(text.encode("utf-8"))
    for name, figure in found.figures.items():
        save_figure(figure, workshop.folder / f"{name}.png")
        print_line(f"{workshop.folder / name}.png")
    return found
