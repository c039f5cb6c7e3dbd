"""The shelves: images by name (bundled samples, whole data sets) or from a file."""

from warpcert.data.catalogue import CIFAR10, DATASETS, FASHION, MNIST
from warpcert.data.dataset import DataFile, Dataset, Download, Split
from warpcert.data.download import fetch
from warpcert.data.images import load_images
from warpcert.data.selection import Selection, parse_spec
from warpcert.data.shelf import Shelf, open_shelf
from warpcert.data.zoo import ZOO, Counts, Specimen

__all__ = [
    "CIFAR10",
    "DATASETS",
    "FASHION",
    "MNIST",
    "ZOO",
    "Counts",
    "DataFile",
    "Dataset",
    "Download",
    "Selection",
    "Shelf",
    "Specimen",
    "Split",
    "fetch",
    "load_images",
    "open_shelf",
    "parse_spec",
]
