"""Methods by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warpcert.attacks import QUICK, STRONGEST
from warpcert.bound import Alpha, Bounder, DeepPoly, IntervalPropagation
from warpcert.verify.branch import PLAIN
from warpcert.verify.complete import Complete
from warpcert.verify.step import Prove, Refute, Step

if TYPE_CHECKING:
    from warpcert.verify.programs import LinearProgram

PROGRAMS = ("lp", "krelu", "milp")
"""Methods that solve programs, after "interval" and "alpha"; only the last needs integers."""

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


def bounder(method: str, intersect: bool = True) -> Bounder:
    """The bounder of that name; without ``intersect``, as in the paper (DeepPoly only)."""
    if method not in METHODS and method not in PROGRAMS[:2]:
        names = ", ".join((*METHODS, *PROGRAMS[:2]))
        raise ValueError(f"method must be one of {names}, got {method!r}")
    if intersect and method in PROGRAMS:
        return _programs()[method]
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


def steps(method: str, intersect: bool = True, solver: str = "highs") -> list[Step]:
    """What is tried in which order: one bounder, attacks alone, programs, or a tree.

    "complete" branches on what intervals and an attack leave open; "auto" tries lines before that,
    where they are cheap: over boxes, of all images together. Over coupled fields they need duals,
    which take longer than most trees. ``solver`` is for the methods "lp" and "milp".
    """
    if solver != "highs" and method not in ("lp", "milp"):
        raise ValueError(f"solver={solver!r} is for the methods 'lp' and 'milp', got {method!r}")
    if method in METHODS:
        return [Prove(method, bounder(method, intersect))]
    if method not in ("complete", "auto", "attack", *PROGRAMS):
        names = ", ".join((*METHODS, *PROGRAMS, "complete", "auto", "attack"))
        raise ValueError(f"method must be one of {names}, got {method!r}")
    if not intersect:
        raise ValueError(f"intersect=False is for the method 'deeppoly', got {method!r}")
    if method == "attack":
        return list(ATTACKS.values())
    if method in PROGRAMS:
        return _program_steps(method, solver)
    first = [Prove("interval", METHODS["interval"]), ATTACKS["interval"]]
    lines = Prove("deeppoly", METHODS["deeppoly"], boxed=True)
    return [*first, lines, Complete()] if method == "auto" else [*first, Complete()]


def _programs() -> dict[str, LinearProgram]:
    """The bounders that solve linear programs."""
    from warpcert.verify.krelu import KRelu  # noqa: PLC0415 - the others need no solver
    from warpcert.verify.programs import LinearProgram  # noqa: PLC0415

    return {"lp": LinearProgram(), "krelu": KRelu()}


def _program_steps(method: str, solver: str) -> list[Step]:
    """Cheap bounds first, and for "milp" an attack, then programs for what those leave open."""
    from warpcert.solve import Mixed, engine  # noqa: PLC0415 - the others need no solver
    from warpcert.verify.mixed import Decide  # noqa: PLC0415
    from warpcert.verify.programs import ProveEach, ProveInner  # noqa: PLC0415

    chosen = engine(solver)
    first, inner = Prove("interval", METHODS["interval"]), ProveInner("alpha", METHODS["alpha"])
    if method == "milp":
        return [first, ATTACKS["interval"], inner, Decide(mixed=Mixed(chosen))]
    bounds = replace(_programs()[method], before=None, settled=0.0, engine=chosen)
    return [first, inner, ProveEach(method, bounds)]
