"""The zoo: networks that come with the package, and how each was made."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

FOLDER = Path(__file__).parent / "weights"


@dataclass(frozen=True)
class Specimen:
    """A network in the zoo.

    ``accuracy`` and ``certified`` are shares of the 10,000 test images: right, and right on the
    whole L-inf ball of radius ``eps`` by interval propagation. ``command`` made it.
    """

    name: str
    dataset: str
    architecture: str
    training: str
    eps: str
    accuracy: float
    certified: float
    sha256: str
    command: str

    @property
    def path(self) -> Path:
        """Its ONNX file; one that was changed is refused."""
        path = FOLDER / f"{self.name}.onnx"
        try:
            found = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise ValueError(f"{path} cannot be read ({error.strerror}): install again") from None
        if found != self.sha256:
            raise ValueError(f"{path} is not the file that was shipped: install warpcert again")
        return path


def _train(architecture: str, dataset: str, options: str) -> str:
    return f"python -m warpcert.train {architecture} {dataset} {options}"


ZOO: Mapping[str, Specimen] = MappingProxyType(
    {
        specimen.name: specimen
        for specimen in (
            Specimen(
                "mnist-convsmall-ibp",
                "mnist",
                "ConvSmall",
                "interval propagation on L-inf balls",
                "0.3",
                0.9745,
                0.8869,
                "2c175bdf87b1ed39f68f0c2506b947d823e71348fb3dcd249cb2fa26626f5535",
                _train("ConvSmall", "mnist", "--eps 0.3 --epochs 70 --limit-seconds 100"),
            ),
            Specimen(
                "cifar10-convsmall-ibp",
                "cifar10",
                "ConvSmall",
                "interval propagation on L-inf balls",
                "8/255",
                0.4288,
                0.2341,
                "3b2c47449970c656ed931e7a5dc6974460fc7dc06fe4d7f4335d7e3fa7d9ab36",
                _train("ConvSmall", "cifar10", "--eps 8/255 --epochs 60"),
            ),
        )
    }
)
