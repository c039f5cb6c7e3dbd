"""Decide: steps that decide by programs with integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from warpcert.attacks import STRONGEST, Attack, Attacked, Cascade, FrankWolfe, Given
from warpcert.bound import Alpha, Bounder, Bounds
from warpcert.core import rounding
from warpcert.core.inputset import InputSet
from warpcert.core.polytope import Floats
from warpcert.solve import Mixed, Solution, Tighten, minimise_rows, parallel
from warpcert.solve.mixed import Answer
from warpcert.solve.parallel import Cancelled
from warpcert.verify.docket import Docket
from warpcert.verify.programs import Setting, one_by_one
from warpcert.verify.step import Step


@dataclass(frozen=True)
class Decide(Step):
    """Each image by programs with integers, one for each margin that nothing simpler proves.

    First an attack, whose best member is where the search begins; then linear programs; then, worst
    margin first, programs that are exact for piecewise linear networks. They stop as soon as the
    sign of a margin is known. A negative one is realised as a field and tested like any attack's.
    """

    name: str = "milp"
    mixed: Mixed = field(default_factory=Mixed)
    before: Bounder = field(default_factory=Alpha)
    attack: Attack = STRONGEST
    tighten: Tighten | None = None

    def __call__(self, docket: Docket, which: Tensor) -> None:
        """One image after the other, each with its margins side by side."""
        known = docket.known(which)

        def work(place: int, k: int) -> None:
            bounds = known.select(torch.tensor([place])) if known is not None else None
            _Case(self, docket, k, bounds).decide()

        one_by_one(self.name, docket, which, work)


class _Case:
    """One image before the solver."""

    def __init__(self, step: Decide, docket: Docket, k: int, bounds: Bounds | None) -> None:
        self.step, self.docket, self.k = step, docket, k
        self.one = torch.tensor([k], device=docket.labels.device)
        self.members: InputSet = docket.members(self.one)
        self.inputs = docket.inputs(self.one)
        self.rows = docket.rows[self.one]
        if bounds is None:
            bounds = step.before(docket.network, self.inputs, self.rows)
        self.bounds = bounds

    def decide(self) -> None:
        """Attack, relax, and search."""
        if bool((self.bounds.margins > 0).all()):
            self.docket.prove(self.one, self.bounds, self.step.name)
            return
        met = self._tried(self.step.attack)
        if met is None:
            return
        network = self.docket.network
        setting = Setting.of(network, self.inputs, self.bounds)
        if setting is None:
            self._excuse("some layer has no finite bound")
            return
        if self.step.tighten is not None:
            setting = setting.tightened(self.step.tighten)
        margins = self.bounds.margins[0].cpu().clone()
        order = [r for r in margins.argsort().tolist() if not margins[r] > 0]
        asked = [self.rows[0, r].cpu().numpy() for r in order]
        relaxed = dict(
            zip(order, minimise_rows(setting.encoding(), len(network), asked), strict=True)
        )
        for r, solution in relaxed.items():
            margins[r] = max(float(margins[r]), solution.bound)
        self._enter(margins)
        left = [r for r in order if not margins[r] > 0]
        if left:
            images = [self.docket.images[self.k].cpu(), self.members.realise(met.parameters)[0]]
            self._search(setting, margins, {r: relaxed[r] for r in left}, images)

    def _search(
        self,
        setting: Setting,
        margins: Tensor,
        relaxed: dict[int, Solution],
        members: list[Tensor],
    ) -> None:
        """Margins by programs with integers, until one fails."""
        mixed, value = self.step.mixed, len(setting.network)
        encoding = setting.encoding(exact=True, widen=rounding.WIDENED)
        trouble = mixed.check(encoding, [x.cpu() for x in members])
        if trouble:
            self._excuse(trouble)
            return
        todo = list(relaxed)

        def call(r: int) -> Callable[[Cancelled], Answer]:
            def work(cancelled: Cancelled) -> Answer:
                cost = encoding.cost(value, self.rows[0, r].cpu().numpy())
                start = members[-1].cpu()
                return mixed(encoding, cost, relaxed[r], start=start, cancelled=cancelled)

            return work

        believed = margins.clone()
        for number, answer in parallel([call(r) for r in todo]):
            r = todo[number]
            if answer.bound > 0:
                believed[r] = max(float(believed[r]), answer.bound)
                continue
            self._failed(r, answer, setting)
            return
        note = (
            f"by the word of {mixed.engine.name}, with a tolerance of {rounding.FEASIBLE:g} and "
            f"{mixed.safety:g} times its effect kept as a margin"
        )
        bounds = Bounds(self.bounds.layers, believed[None].to(self.bounds.margins))
        self.docket.believe(self.k, bounds, self.step.name, note)

    def _failed(self, r: int, answer: Answer, setting: Setting) -> None:
        """A margin that is not above zero: realise the point, and test it like any attack's."""
        label = int(self.docket.labels[self.k])
        rival = r + (r >= label)
        if answer.point is not None and answer.value < 0:
            if self._tried(self._given(answer.point, setting)) is None:
                return
            self._excuse(
                f"the least margin against class {rival} is {answer.value:.4g} over the relaxed "
                "input set, where no field was found that reaches it"
            )
        elif answer.end:
            self._excuse(f"{answer.end} at the margin against class {rival}")
        else:
            self._excuse(f"the margin against class {rival} is zero as far as tolerances tell")

    def _given(self, point: Floats, setting: Setting) -> Attack:
        """An attack that begins at a program's point."""
        images = torch.from_numpy(point[setting.polytope.image])[None].to(self.one.device)
        fields = None
        if not self.inputs.boxed:
            fields = torch.from_numpy(point[setting.polytope.parameters])[None]
            fields = fields.to(self.one.device)
        return Cascade((Given(images, fields), FrankWolfe(steps=20, restarts=1)))

    def _tried(self, attack: Attack) -> Attacked | None:
        """What an attack has met; None, and a refuted image, where that changes the label."""
        found = attack(self.docket.network, self.members, self.docket.labels[self.one])
        self.docket.attacked(self.one, found, self.step.name)
        return None if bool(found.fooled[0]) else found

    def _enter(self, margins: Tensor) -> None:
        """Enter what is proved."""
        bounds = Bounds(self.bounds.layers, margins[None].to(self.bounds.margins))
        self.docket.prove(self.one, bounds, self.step.name)

    def _excuse(self, reason: str) -> None:
        self.docket.reasons[self.k] = reason
