"""`reason`: one short line about an error of somebody else's."""

from __future__ import annotations


def reason(error: BaseException, longest: int = 160) -> str:
    """What went wrong, on one line, for use inside our own message."""
    cause = getattr(error, "reason", None)  # URLError hides the interesting error in here
    if isinstance(cause, BaseException):
        return reason(cause, longest)
    line = " ".join(str(getattr(error, "strerror", None) or error).split())
    return (line if len(line) <= longest else line[:longest] + "...") or type(error).__name__
