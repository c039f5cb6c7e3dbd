"""`tag`: an element of HTML or SVG as text, everything in it escaped."""

from __future__ import annotations

from html import escape


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: object) -> Markup:
    """An element; strings that are not `Markup` are escaped.

    Underscores in the names of attributes stand for hyphens, a last one is dropped; an attribute
    that is None is left out.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_word(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: str) -> Markup:
    """Elements and texts, one after the other."""
    return Markup("".join(c if isinstance(c, Markup) else escape(c) for c in children))


def _word(value: object) -> str:
    """An attribute's value; a tenth of a dot is enough for a coordinate."""
    return f"{round(value, 1):g}" if isinstance(value, float) else str(value)
