"""`Refusal`: what the user has to mend, as one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


class Refusal(Exception):  # noqa: N818 - it is an answer, not a failure
    """Wrong use or unreadable input; the message says what is wrong and how to mend it."""


# The library speaks of its own arguments; on the command line they have other names.
_SPOKEN = (
    (re.compile(r"\broot="), "--data "),
    (re.compile(r"warpcert\.data\.fetch\('(\w+)'\)"), r"warpcert data fetch \1"),
)


@contextmanager
def refusing() -> Iterator[None]:
    """Turn the library's `ValueError` about what the user gave into a `Refusal`.

    Only calls that look at the user's input belong in here: elsewhere a `ValueError` is a defect.
    """
    try:
        yield
    except ValueError as error:
        line = str(error)
        for pattern, words in _SPOKEN:
            line = pattern.sub(words, line)
        raise Refusal(line) from None
