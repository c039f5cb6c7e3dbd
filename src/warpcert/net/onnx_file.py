"""read_model: an ONNX file as data."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

LIMIT = 1 << 31
"""Protocol buffers do not go further, in bytes."""


def read_model(path: Path) -> onnx.ModelProto:
    """The graph and its attributes, parsed and not executed."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        if path.stat().st_size >= LIMIT:
            raise ValueError(f"{path} is too large: an ONNX file is smaller than 2 GiB")
        model = onnx.ModelProto.FromString(path.read_bytes())
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except DecodeError:
        raise ValueError(f"{path} is not an ONNX file, or it is truncated") from None
    if not model.graph.node or not model.opset_import:
        raise ValueError(f"{path} is not an ONNX file: it holds no network")
    return model


def read_array(tensor: onnx.TensorProto, folder: Path) -> NDArray[Any]:
    """A tensor of the file as an array; data beside the file is read from its folder alone."""
    if min(tensor.dims, default=0) < 0:
        raise ValueError(f"tensor {tensor.name!r} has the shape {tuple(tensor.dims)}")
    if tensor.data_location != TensorProto.EXTERNAL:
        return np.asarray(numpy_helper.to_array(tensor))
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.data_type)).newbyteorder("<")
    size = math.prod(tensor.dims) * dtype.itemsize
    entries = {entry.key: entry.value for entry in tensor.external_data}
    path = (folder / entries["location"]).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise ValueError(f"data of tensor {tensor.name!r} is not in the file's folder")
    offset = int(entries.get("offset", 0))
    if int(entries.get("length", size)) != size or not 0 <= offset <= path.stat().st_size - size:
        raise ValueError(f"data of tensor {tensor.name!r} is truncated")
    with path.open("rb") as file:
        file.seek(offset)
        raw = file.read(size)
    return np.frombuffer(raw, dtype).reshape(tuple(tensor.dims))
