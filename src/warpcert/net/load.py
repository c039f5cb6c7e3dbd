"""load_network: a network from an ONNX file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from warpcert.core import Unsupported
from warpcert.net import arithmetic
from warpcert.net.affine import Shape
from warpcert.net.builder import Builder, Value
from warpcert.net.fold import fold
from warpcert.net.network import Network

LAYOUTS = ("nchw", "nhwc")


def load_network(
    path: str | Path,
    *,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    layout: str = "nchw",
    input_shape: tuple[int, int, int] | None = None,
) -> Network:
    """The network in an ONNX file, or one of the zoo by name; a file is never executed.

    ``mean`` and ``std``, one number or one for each channel, put (x - mean) / std first, for
    a file that expects normalised images. ``layout="nhwc"`` is for a file that expects the
    channels last; the network takes images (C, H, W) in any case. ``input_shape`` says what they
    are where the file does not: its input is flat, or leaves sizes free.
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    path = _find(path)
    try:
        from warpcert.net.onnx_file import read_model  # noqa: PLC0415 - modules need no onnx
        from warpcert.net.onnx_graph import OnnxGraph  # noqa: PLC0415
    except ImportError:
        raise ValueError(f"{path}: reading ONNX files needs 'pip install onnx'") from None
    model = read_model(path)
    try:
        with np.errstate(all="ignore"):
            graph = OnnxGraph(model, path.parent)
            builder = Builder(_image_shape(graph.sizes, layout, input_shape))
            start = _prepared(builder, mean, std, layout)
            sizes = graph.sizes if all(graph.sizes) and graph.sizes else start.shape
            output = graph.build(builder, arithmetic.reshape(builder, start, tuple(sizes)))
            return fold(builder.network(output))
    except Unsupported as error:
        raise Unsupported(f"{path}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError) as error:
        raise ValueError(f"{path} is not a valid ONNX network: {error!r}") from error
    except RuntimeError as error:  # torch's word for wrong shapes
        raise ValueError(f"{path} is not a valid ONNX network: {str(error)[:200]}") from error


def _find(name: str | Path) -> Path:
    """The file that a name of the zoo stands for, or the path itself."""
    from warpcert.data.zoo import ZOO  # noqa: PLC0415 - only a name needs it

    return ZOO[name].path if isinstance(name, str) and name in ZOO else Path(name)


def _image_shape(sizes: list[int], layout: str, given: tuple[int, ...] | None) -> Shape:
    """The images (C, H, W) that a file's input (without the batch) stands for."""
    if given is not None:
        shape = tuple(given)
    elif len(sizes) == 3 and all(sizes):
        shape = tuple(sizes) if layout == "nchw" else (sizes[2], sizes[0], sizes[1])
    else:
        raise ValueError(
            f"the input is (batch, {', '.join(str(n or '?') for n in sizes)}), not an image: "
            "give input_shape=(C, H, W)"
        )
    if len(shape) != 3 or min(shape) < 1:
        raise ValueError(f"input_shape must be (C, H, W), got {shape}")
    return shape


def _prepared(
    builder: Builder,
    mean: float | Sequence[float] | None,
    std: float | Sequence[float] | None,
    layout: str,
) -> Value:
    """The images as the file wants them: normalised, then with the axes in its order."""
    x = builder.input
    if mean is not None or std is not None:
        middle = _per_channel("mean", 0.0 if mean is None else mean, x.shape[0])
        width = _per_channel("std", 1.0 if std is None else std, x.shape[0])
        if not bool((width > 0).all()):
            raise ValueError(f"std must be positive, got {std}")
        x = arithmetic.scale(builder, x, 1 / width, -middle / width)
    return arithmetic.permute(builder, x, (1, 2, 0)) if layout == "nhwc" else x


def _per_channel(name: str, numbers: float | Sequence[float], channels: int) -> Tensor:
    tensor = torch.as_tensor(numbers, dtype=torch.float64).reshape(-1)
    if len(tensor) not in (1, channels) or not bool(torch.isfinite(tensor).all()):
        raise ValueError(f"{name} must be one number or one for each of {channels} channels")
    return tensor[:, None, None]
