"""Methods by name."""

from __future__ import annotations

from warpcert.attacks import QUICK, STRONGEST
from warpcert.bound import Alpha, Bounder, DeepPoly, IntervalPropagation
from warpcert.verify.branch import PLAIN
from warpcert.verify.complete import Complete
from warpcert.verify.step import Prove, Refute, Step

METHODS: dict[str, Bounder] = {
    "interval": IntervalPropagation(),
    "deeppoly": DeepPoly(),
    "alpha": Alpha(),
}
"""Those that prove, cheapest first; each is at least as tight as the one before."""

ATTACKS: dict[str, Step] = {
    "interval": Refute("attack", QUICK),
    "alpha": Refute("strong attack", STRONGEST),
}
"""What is tried after a method, on what that has left undecided."""

CHEAP = ("interval", "deeppoly")
"""What "auto" tries before it branches: a tree's own bounds are better than all beyond."""


def bounder(method: str, intersect: bool = True) -> Bounder:
    """The bounder of that name; without ``intersect``, as in the paper (DeepPoly only)."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if intersect:
        return METHODS[method]
    if method != "deeppoly":
        raise ValueError(f"intersect=False is for the method 'deeppoly', got {method!r}")
    return DeepPoly(intersect=False)


def proving_steps(method: str) -> list[Step]:
    """What is tried when the proof is to be kept: an attack, and a tree of plain bounds."""
    if method not in ("complete", "auto"):
        raise ValueError(f"proof=True is for the methods 'complete' and 'auto', got {method!r}")
    return [ATTACKS["interval"], Complete(effort=PLAIN, keep=True)]


def steps(method: str, intersect: bool = True) -> list[Step]:
    """What is tried in which order: one bounder, attacks alone, or a tree after cheap steps.

    "auto" branches on what the cheap methods and an attack leave open; "complete" does so at once
    after intervals and the attack.
    """
    if method in METHODS:
        return [Prove(method, bounder(method, intersect))]
    if method not in ("complete", "auto", "attack"):
        names = ", ".join((*METHODS, "complete", "auto", "attack"))
        raise ValueError(f"method must be one of {names}, got {method!r}")
    if not intersect:
        raise ValueError(f"intersect=False is for the method 'deeppoly', got {method!r}")
    if method == "attack":
        return list(ATTACKS.values())
    found: list[Step] = []
    for name in CHEAP if method == "auto" else CHEAP[:1]:
        found.append(Prove(name, METHODS[name]))
        found += [ATTACKS[name]] if name in ATTACKS else []
    return [*found, Complete()]
