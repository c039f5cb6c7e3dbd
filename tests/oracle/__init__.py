"""A slow, exact and independent reference for the geometry of deformed images.

Nothing here imports the package under test: the reference re-derives every answer from the
definition of the warp, in rational arithmetic, so that agreement of the two means something.
"""

from .hull import hull_optimum
from .minimum import joint_maximum, joint_minimum, pixel_maximum, pixel_minimum
from .picture import Number, exact, value
from .programs import nearest_member_linf, plane_optimum, tinf_candidates
from .region import Box, Region
from .roots import pixel_minimum_by_roots
from .samples import dense_samples

__all__ = [
    "Box",
    "Number",
    "Region",
    "dense_samples",
    "exact",
    "hull_optimum",
    "joint_maximum",
    "joint_minimum",
    "nearest_member_linf",
    "pixel_maximum",
    "pixel_minimum",
    "pixel_minimum_by_roots",
    "plane_optimum",
    "tinf_candidates",
    "value",
]
