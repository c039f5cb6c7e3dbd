"""`warpcert certify`: can bending change what a network says of these images?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from warpcert.cli.names import name_images
from warpcert.cli.network import (
    DeviceOption,
    Layout,
    LayoutOption,
    MeanOption,
    NetworkArgument,
    ShapeOption,
    StdOption,
    open_network,
)
from warpcert.cli.refusal import Refusal, refusing
from warpcert.cli.screen import Format, FormatOption, print_json
from warpcert.cli.threat import (
    Border,
    BorderOption,
    DeltaOption,
    GammaOption,
    Norm,
    NormOption,
    make_threat,
)
from warpcert.cli.verdicts import VerdictsReport

CERTIFY_EXAMPLES = """\b
Examples:
  warpcert certify net.onnx --images mnist:0-9 --norm inf --delta 0.3
  warpcert certify net.onnx --images cifar10:0-9 --delta 0.4 --gamma 0.1 --method alpha
  warpcert certify net.onnx --images photos.npz --mean 0.49,0.48,0.45 --std 0.25,0.24,0.26
"""


class Method(StrEnum):
    """The ways to a proof."""

    AUTO = "auto"
    INTERVAL = "interval"
    DEEPPOLY = "deeppoly"
    ALPHA = "alpha"


class Relaxation(StrEnum):
    """The sets that bent images are enclosed in."""

    HULL = "hull"
    PLANES = "planes"
    BOX = "box"


ImagesOption = Annotated[
    str,
    typer.Option("--images", metavar="SPEC", help="Such as mnist:0-9, or an .npz with labels."),
]
LabelOption = Annotated[
    int | None, typer.Option("--label", metavar="K", help="The class of images that have none.")
]
MethodOption = Annotated[Method, typer.Option("--method", help="auto: each in turn.")]
RelaxationOption = Annotated[
    Relaxation, typer.Option("--relaxation", help="planes: as published, by linear programs.")
]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Folder with whole data sets.")
]


def certify(
    net: NetworkArgument,
    images: ImagesOption,
    norm: NormOption = Norm.INF,
    delta: DeltaOption = "0.5",
    gamma: GammaOption = "inf",
    border: BorderOption = Border.CLAMP,
    method: MethodOption = Method.AUTO,
    relaxation: RelaxationOption = Relaxation.HULL,
    label: LabelOption = None,
    mean: MeanOption = None,
    std: StdOption = None,
    layout: LayoutOption = Layout.NCHW,
    shape: ShapeOption = None,
    device: DeviceOption = "cpu",
    form: FormatOption = Format.TEXT,
    data: DataOption = None,
) -> None:
    """Prove that bending cannot change a network's answer, image by image.

    Every pixel moves by at most DELTA, and neighbours differ by at most GAMMA.
    """
    threat = make_threat(norm, delta, gamma, border)
    network = open_network(net, mean, std, layout, shape, device)
    from warpcert.data import load_images
    from warpcert.verify import certify as decide
    from warpcert.verify import check_problem

    with refusing():
        pictures, labels = load_images(images, root=data)
        if label is not None:
            labels = labels.where(labels >= 0, label)
    if bool((labels < 0).any()):
        raise Refusal(f"{images} has no labels: give the class with --label K")
    with refusing():
        pictures, labels = check_problem(network, pictures, labels)
    verdicts = decide(network, pictures, labels, threat, method.value, relaxation=relaxation.value)
    assert isinstance(verdicts, list)
    report = VerdictsReport(net, name_images(images, labels.cpu()), threat, verdicts)
    if form is Format.JSON:
        print_json(report.json)
    else:
        report.print()
