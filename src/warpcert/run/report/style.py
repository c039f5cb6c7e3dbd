"""`house_style`: how every picture is drawn, whatever the user's own settings are."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib's defaults, whatever the user's own settings are, and no complaints."""
    import matplotlib  # noqa: PLC0415 - only pictures need it

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams["svg.hashsalt"] = "warpcert"  # its names are the same every time
        warnings.simplefilter("ignore")  # such as a file's name in letters that the font lacks
        yield
