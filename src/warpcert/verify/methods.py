"""Methods by name."""

from __future__ import annotations

from warpcert.attacks import QUICK, STRONGEST
from warpcert.bound import Alpha, Bounder, DeepPoly, IntervalPropagation
from warpcert.verify.step import Prove, Refute, Step

PROGRAMS = ("lp", "milp")
"""Methods that solve programs, after "alpha" has done what it can."""

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
"""What "auto" tries after a method, on what that has left undecided."""


def bounder(method: str, intersect: bool = True) -> Bounder:
    """The bounder of that name; without ``intersect``, as in the paper (DeepPoly only)."""
    if method == "lp":
        from warpcert.verify.programs import LinearProgram  # noqa: PLC0415 - it needs a solver

        return LinearProgram()
    if method not in METHODS:
        names = ", ".join((*METHODS, "lp"))
        raise ValueError(f"method must be one of {names}, got {method!r}")
    if intersect:
        return METHODS[method]
    if method != "deeppoly":
        raise ValueError(f"intersect=False is for the method 'deeppoly', got {method!r}")
    return DeepPoly(intersect=False)


def steps(method: str, intersect: bool = True) -> list[Step]:
    """What is tried in which order: one bounder, attacks alone, or for "auto" all of them."""
    if method in METHODS:
        return [Prove(method, bounder(method, intersect))]
    if method not in ("auto", "attack", *PROGRAMS):
        names = ", ".join((*METHODS, *PROGRAMS, "auto", "attack"))
        raise ValueError(f"method must be one of {names}, got {method!r}")
    if not intersect:
        raise ValueError(f"intersect=False is for the method 'deeppoly', got {method!r}")
    if method == "attack":
        return list(ATTACKS.values())
    if method in PROGRAMS:
        return [Prove("alpha", METHODS["alpha"]), _program(method)]
    found: list[Step] = []
    for name, engine in METHODS.items():
        found.append(Prove(name, engine))
        found += [ATTACKS[name]] if name in ATTACKS else []
    return found


def _program(method: str) -> Step:
    """The step that solves programs."""
    from warpcert.verify.mixed import Decide  # noqa: PLC0415 - they need a solver
    from warpcert.verify.programs import LinearProgram, ProveEach  # noqa: PLC0415

    if method == "milp":
        return Decide()
    return ProveEach(method, LinearProgram(before=None, settled=0.0))
