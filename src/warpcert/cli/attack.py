"""`warpcert attack`: fields that change what a network says of these images."""

from __future__ import annotations

from warpcert.cli.certify import (
    DeltasOption,
    GammasOption,
    ImagesOption,
    LabelOption,
    Method,
    OutOption,
    TimeoutOption,
    certify,
)
from warpcert.cli.network import (
    DeviceOption,
    Layout,
    LayoutOption,
    MeanOption,
    NetworkArgument,
    ShapeOption,
    StdOption,
)
from warpcert.cli.running import DataOption, WorkersOption
from warpcert.cli.screen import Format, FormatOption
from warpcert.cli.threat import Border, BorderOption, Norm, NormOption

ATTACK_EXAMPLES = """\b
Examples:
  warpcert attack mnist-convsmall-ibp --images mnist:0-9 --delta 1
  warpcert attack net.onnx --images mnist --delta 1,2 --gamma 0.1 --out found.jsonl
"""


def attack(
    net: NetworkArgument,
    images: ImagesOption,
    norm: NormOption = Norm.INF,
    delta: DeltasOption = None,
    gamma: GammasOption = None,
    border: BorderOption = Border.CLAMP,
    timeout: TimeoutOption = None,
    out: OutOption = None,
    label: LabelOption = None,
    mean: MeanOption = None,
    std: StdOption = None,
    layout: LayoutOption = Layout.NCHW,
    shape: ShapeOption = None,
    device: DeviceOption = "cpu",
    workers: WorkersOption = None,
    form: FormatOption = Format.TEXT,
    data: DataOption = None,
) -> None:
    """Look for bending that changes a network's answer, image by image.

    With --out the fields found are kept beside the results. Finding none proves nothing.
    """
    certify(
        net=net,
        images=images,
        norm=norm,
        delta=delta,
        gamma=gamma,
        border=border,
        method=Method.ATTACK,
        timeout=timeout,
        out=out,
        label=label,
        mean=mean,
        std=std,
        layout=layout,
        shape=shape,
        device=device,
        workers=workers,
        form=form,
        data=data,
    )
