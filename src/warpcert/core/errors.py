"""The two errors that are not plain misuse (misuse is a ``ValueError``)."""

from __future__ import annotations


class Unsupported(NotImplementedError):  # noqa: N818 - the design's name
    """Something that cannot be bounded here; the message names it and what is supported."""


class Unsound(AssertionError):  # noqa: N818 - the design's name
    """A broken invariant: a bound or a witness that contradicts itself. Nobody catches this."""
