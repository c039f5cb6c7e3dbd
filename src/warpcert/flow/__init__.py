"""The geometry: threats, warping, and exact answers about bent pixels."""

from warpcert.flow.bounds import pixel_bounds
from warpcert.flow.deformed import DeformedImage, support
from warpcert.flow.planes import pixel_planes
from warpcert.flow.region import Region
from warpcert.flow.threat import Threat
from warpcert.flow.warp import warp

__all__ = ["DeformedImage", "Region", "Threat", "pixel_bounds", "pixel_planes", "support", "warp"]
