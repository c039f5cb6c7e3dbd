"""A network that kills the process it runs in, or raises, when it sees certain images."""

from __future__ import annotations

import os
import signal
from typing import Any

from torch import Tensor

from warpcert.core.errors import Unsound
from warpcert.net import Network


class Deadly(Network):
    def to(self, device: Any = None, dtype: Any = None) -> Network:
        return self

    def values(self, images: Tensor) -> list[Tensor]:
        if bool((images[:, 0, 0, 0] == 1).any()):
            os.kill(os.getpid(), signal.SIGKILL)
        if bool((images[:, 0, 0, 0] == 0).any()):
            raise Unsound("a pixel is black")
        return super().values(images)
