"""A network on the command line: its options, and how it is loaded."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from warpcert.cli.refusal import Refusal, refusing

if TYPE_CHECKING:
    from warpcert.net import Network


class Layout(StrEnum):
    """The order of an image's axes in a file."""

    NCHW = "nchw"
    NHWC = "nhwc"


NetworkArgument = Annotated[
    str, typer.Argument(metavar="NET", help="An .onnx file, or the name of a bundled network.")
]
MeanOption = Annotated[
    str | None,
    typer.Option("--mean", metavar="NUMBERS", help="Subtract these first, one or one a channel."),
]
StdOption = Annotated[
    str | None, typer.Option("--std", metavar="NUMBERS", help="Then divide by these.")
]
LayoutOption = Annotated[
    Layout, typer.Option("--layout", help="Order of the axes that the file expects.")
]
ShapeOption = Annotated[
    str | None,
    typer.Option("--shape", metavar="C,H,W", help="The images' shape, where the file is silent."),
]
DeviceOption = Annotated[
    str, typer.Option("--device", metavar="DEVICE", help="cpu, cuda, or cuda:1 and so on.")
]


def open_network(
    name: str,
    mean: str | None,
    std: str | None,
    layout: Layout,
    shape: str | None,
    device: str,
) -> Network:
    """The network that the options name, on its device."""
    numbers = {
        option: None if text is None else _numbers(f"--{option}", text)
        for option, text in (("mean", mean), ("std", std))
    }
    size = None if shape is None else _shape(shape)
    from warpcert.core import Unsupported
    from warpcert.net import load_network

    try:
        with refusing():
            network = load_network(name, layout=layout.value, input_shape=size, **numbers)
    except Unsupported as error:
        raise Refusal(str(error)) from None
    try:
        return network.to(device)
    except (AssertionError, RuntimeError):  # torch's words for a device it does not have
        raise Refusal(f"--device {device} is not to be had here: try cpu") from None


def _numbers(option: str, text: str) -> list[float]:
    """Numbers with commas between them."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise Refusal(f"{option} must be numbers with commas between, got {text!r}") from None


def _shape(text: str) -> tuple[int, int, int]:
    """Three whole numbers with commas between them."""
    try:
        channels, height, width = (int(part) for part in text.split(","))
    except ValueError:
        raise Refusal(f"--shape must be C,H,W such as 3,32,32, got {text!r}") from None
    return channels, height, width
