"""`warpcert train`: a network that intervals can certify."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpcert.cli.epochs import show_epochs
from warpcert.cli.refusal import Refusal, refusing
from warpcert.cli.save import check_target, save_figure
from warpcert.cli.screen import Format, FormatOption, print_json, print_line, print_table, printable
from warpcert.cli.threat import Norm, NormOption

if TYPE_CHECKING:
    from warpcert.train.options import Options, Place

TRAIN_EXAMPLES = """\b
Examples:
  warpcert train ConvSmall mnist --delta 0.5 --epochs 60 --out small
  warpcert train ConvBig mnist --eps 0.3 --epochs 60 --rate 5e-4 --out big
  warpcert train ConvMed cifar10 --delta 0.5 --loss mtl-ibp --epochs 80 --out med
"""


class Loss(StrEnum):
    """What is minimised."""

    PLAIN = "plain"
    PGD = "pgd"
    IBP = "ibp"
    CROWN_IBP = "crown-ibp"
    MTL_IBP = "mtl-ibp"
    SABR = "sabr"


class Rates(StrEnum):
    """How the learning rate goes on."""

    LINEAR = "linear"
    STEP = "step"
    CYCLIC = "cyclic"


ArchArgument = Annotated[
    str, typer.Argument(metavar="ARCH", help="ConvSmall, ConvMed, ConvBig, ResNet or Cnn7.")
]
DatasetArgument = Annotated[
    str, typer.Argument(metavar="DATASET", help="mnist, fashion or cifar10.")
]
OutOption = Annotated[
    Path,
    typer.Option(
        "--out", metavar="FOLDER", help="For checkpoint, log and network; the same continues."
    ),
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", "--root", metavar="DIR", help="Folder with whole data sets."),
]
DeviceOption = Annotated[
    str | None,
    typer.Option("--device", help="cpu or cuda.  [default: cuda where there is one]"),
]
EpochsOption = Annotated[
    int, typer.Option("--epochs", metavar="N", help="Passes over the training images.")
]
EpsOption = Annotated[
    str | None,
    typer.Option("--eps", metavar="NUMBER", help="L-inf radius to be judged by: 0.3, 8/255."),
]
DeltaOption = Annotated[
    str | None,
    typer.Option("--delta", metavar="NUMBER", help="Or: longest displacement, in pixels."),
]
TrainEpsOption = Annotated[
    str | None, typer.Option("--train-eps", metavar="NUMBER", help="Train for another radius.")
]
TrainDeltaOption = Annotated[
    str | None, typer.Option("--train-delta", metavar="NUMBER", help="Train for another delta.")
]
BatchOption = Annotated[int, typer.Option("--batch", metavar="N", help="Images a step.")]
RateOption = Annotated[
    float, typer.Option("--rate", metavar="NUMBER", help="Adam's learning rate.")
]
DecayOption = Annotated[
    float,
    typer.Option("--decay", metavar="NUMBER", help="From this part of the run on the rate falls."),
]
LowestOption = Annotated[
    str, typer.Option("--lowest", metavar="NUMBER", help="A cyclic rate's ends.")
]
WarmOption = Annotated[
    float | None,
    typer.Option("--warm", metavar="EPOCHS", help="Before the box grows.  [default: 2 %]"),
]
RampOption = Annotated[
    float | None,
    typer.Option("--ramp", metavar="EPOCHS", help="In which it grows.  [default: to half]"),
]
KappaOption = Annotated[
    float,
    typer.Option("--kappa", metavar="NUMBER", help="Weight of images, clean or attacked, at last."),
]
SmallOption = Annotated[
    float, typer.Option("--small", metavar="NUMBER", help="sabr: part of the box's width.")
]
AttackStepsOption = Annotated[
    int, typer.Option("--attack-steps", metavar="N", help="Steps of an attack.")
]
AttackSizeOption = Annotated[
    float,
    typer.Option("--attack-size", metavar="NUMBER", help="Their size, in parts of the reach."),
]
L1Option = Annotated[
    float, typer.Option("--l1", metavar="NUMBER", help="Weight of the sum of absolute weights.")
]
RegulariserOption = Annotated[
    float, typer.Option("--regulariser", metavar="NUMBER", help="Weight of tight boxes at first.")
]
ClipOption = Annotated[float, typer.Option("--clip", metavar="NUMBER", help="Longest gradient.")]
ValidationOption = Annotated[
    int, typer.Option("--validation", metavar="N", help="Training images kept for it.")
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="Of everything random.")]
LossOption = Annotated[Loss, typer.Option("--loss", help="What is minimised.")]
ScheduleOption = Annotated[Rates, typer.Option("--schedule", help="How the rate goes on.")]
AugmentOption = Annotated[
    bool | None,
    typer.Option("--augment/--no-augment", help="Shift and mirror.  [default: photos alone]"),
]
EagerOption = Annotated[
    bool, typer.Option("--eager", help="On a GPU, kernel by kernel: no recorded step.")
]
StopOption = Annotated[
    float | None,
    typer.Option("--stop-after", metavar="SECONDS", help="Stop then; the same continues."),
]
PlotOption = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Picture of the log.  [default: FOLDER/log.png]"),
]


def train(
    arch: ArchArgument,
    dataset: DatasetArgument,
    epochs: EpochsOption,
    out: OutOption,
    eps: EpsOption = None,
    delta: DeltaOption = None,
    norm: NormOption = Norm.INF,
    train_eps: TrainEpsOption = None,
    train_delta: TrainDeltaOption = None,
    loss: LossOption = Loss.IBP,
    batch: BatchOption = 256,
    rate: RateOption = 1e-3,
    schedule: ScheduleOption = Rates.LINEAR,
    decay: DecayOption = 0.6,
    lowest: LowestOption = "1e-8",
    warm: WarmOption = None,
    ramp: RampOption = None,
    kappa: KappaOption = 0.5,
    small: SmallOption = 0.4,
    attack_steps: AttackStepsOption = 8,
    attack_size: AttackSizeOption = 0.25,
    l1: L1Option = 0.0,
    regulariser: RegulariserOption = 0.0,
    clip: ClipOption = 8.0,
    augment: AugmentOption = None,
    validation: ValidationOption = 2000,
    seed: SeedOption = 0,
    device: DeviceOption = None,
    eager: EagerOption = False,
    stop_after: StopOption = None,
    plot: PlotOption = None,
    form: FormatOption = Format.TEXT,
    data: DataOption = None,
) -> None:
    """Train a network, certifiably against an L-inf ball or bending.

    Writes checkpoint, log, weights, network.onnx and a summary of the test images.
    """
    if plot is not None:
        check_target(plot)
    import torch

    from warpcert.train.options import Options, Place

    with refusing():
        options = Options(
            arch=arch,
            dataset=dataset,
            epochs=epochs,
            radius=eps,
            delta=delta,
            norm=norm.value,
            train_radius=train_eps,
            train_delta=train_delta,
            loss=loss.value,
            batch=batch,
            rate=rate,
            schedule=schedule.value,
            decay=decay,
            lowest=lowest,
            warm=warm,
            ramp=ramp,
            kappa=kappa,
            small=small,
            attack_steps=attack_steps,
            attack_size=attack_size,
            l1=l1,
            regulariser=regulariser,
            clip=clip,
            augment=augment,
            validation=validation,
            seed=seed,
        )
        place = Place(
            out=out,
            root=None if data is None else str(data),
            device=device or ("cuda" if torch.cuda.is_available() else "cpu"),
            eager=eager,
            stop_after=float("inf") if stop_after is None else stop_after,
        )
    summary = _run(options, place)
    picture = _draw(place.out, plot)
    if form is Format.JSON:
        print_json({"out": str(out), "finished": summary is not None, "summary": summary})
    elif summary is None:
        print_line(f"time is up: {out} has a checkpoint, and the same command continues")
    else:
        _report(summary, place.out, picture)


def _run(options: Options, place: Place) -> dict[str, Any] | None:
    """The run, with a display of its epochs; all that can be mended is a refusal."""
    from warpcert.train.job import run_job

    try:
        with refusing(), show_epochs(options.epochs) as progress:
            return run_job(options, place, progress)
    except KeyboardInterrupt:
        line = printable(f"warpcert: interrupted: the same command continues with {place.out}")
        print(line, file=sys.stderr)
        raise typer.Exit(130) from None
    except ArithmeticError as error:
        raise Refusal(str(error)) from None
    except OSError as error:
        raise Refusal(
            f"cannot write to {place.out} ({error.strerror or error}): make room, then go on"
        ) from None


def _draw(out: Path, plot: Path | None) -> Path | None:
    """The picture of the log, where it was asked for or matplotlib is there."""
    from warpcert.train.log import Log

    entries = Log(out / "log.jsonl").read()
    if not entries:
        return None
    try:
        from warpcert.cli.lessons import draw_lessons
    except ImportError:
        if plot is None:
            return None
        raise Refusal("--plot needs 'pip install matplotlib'") from None
    path = plot or out / "log.png"
    save_figure(draw_lessons(entries), path)
    return path


def _report(summary: dict[str, Any], out: Path, picture: Path | None) -> None:
    """The test images, threat by threat."""
    from warpcert.train.report import counts_text, test_counts

    rows = [(threat, counts_text(counts)) for threat, counts in test_counts(summary).items()]
    print_table({"threat": "left", "certified / correct / all": "right"}, rows)
    print_line("Test images: proved by intervals and right, right, and all of them.")
    shown = "" if picture is None else f", {picture}"
    print_line(f"{out / 'network.onnx'}: {summary['bytes'] / 1e6:.1f} MB{shown}")
