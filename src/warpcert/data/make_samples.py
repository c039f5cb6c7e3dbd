"""`make_samples`: cut the bundled samples out of the whole data sets.

    python -m warpcert.data.make_samples ROOT [FOLDER]

ROOT holds the whole data sets; FOLDER (by default the package's own) gets the samples.
"""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path

import numpy as np

from warpcert.data.catalogue import DATASETS
from warpcert.data.dataset import Dataset
from warpcert.data.shelf import open_shelf


def make_samples(dataset: Dataset, root: Path, folder: Path) -> Path:
    """Write the first test images and labels of a data set as uint8; the path written.

    The bytes depend on nothing but the data and the zlib at hand: no times, no system.
    """
    images, labels = open_shelf(dataset, root).read_split(dataset.test)
    path = folder / f"{dataset.name}.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in (("images", images), ("labels", labels)):
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o644 << 16
            content = io.BytesIO()
            kept = np.ascontiguousarray(array[: dataset.bundled], np.uint8)
            np.lib.format.write_array(content, kept, version=(1, 0))
            archive.writestr(info, content.getvalue(), zipfile.ZIP_DEFLATED, 9)
    return path


def main(arguments: list[str]) -> None:
    """Make the samples of all data sets."""
    if len(arguments) not in (1, 2):
        raise SystemExit(f"usage: python -m warpcert.data.make_samples ROOT [FOLDER]: {arguments}")
    root, folder = Path(arguments[0]), Path(__file__).parent / "samples"
    for dataset in DATASETS.values():
        make_samples(dataset, root, Path(arguments[1]) if arguments[1:] else folder)


if __name__ == "__main__":
    main(sys.argv[1:])
