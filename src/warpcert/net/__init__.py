"""The graph: networks as affine maps and activations, from modules and files."""

from warpcert.net.activation import Activation
from warpcert.net.affine import Affine
from warpcert.net.affine_image import affine_image
from warpcert.net.band import Band, Line
from warpcert.net.capture import capture
from warpcert.net.fold import fold
from warpcert.net.hinge import Hinge
from warpcert.net.load import load_network
from warpcert.net.network import Network
from warpcert.net.step import Step

__all__ = [
    "Activation",
    "Affine",
    "Band",
    "Hinge",
    "Line",
    "Network",
    "Step",
    "affine_image",
    "capture",
    "fold",
    "load_network",
]
