"""Programs: margins by linear programs, as bounders and steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from warpcert.bound import Alpha, Bounder, Bounds
from warpcert.bound.arithmetic import plain_products
from warpcert.core.box import Box
from warpcert.core.clock import TimeUp, limited, shared
from warpcert.core.inputset import InputSet
from warpcert.core.interval import Interval
from warpcert.core.polytope import Polytope
from warpcert.core.shapes import Float
from warpcert.net import Network
from warpcert.solve import (
    Encoding,
    Engine,
    Solution,
    Tighten,
    encode,
    minimise_rows,
    one_of,
    value_intervals,
)
from warpcert.verify.docket import Docket
from warpcert.verify.step import Prove, Step


@dataclass(frozen=True)
class LinearProgram(Bounder):
    """Every margin by one linear program: the triangle around every open ReLU, all at once.

    After ``before`` (None: after whatever is known already), whose bounds of neurons are used and,
    with ``tighten``, made better. Margins above ``settled`` are left as they are. Bounds are proved
    from the duals.
    """

    before: Bounder | None = field(default_factory=Alpha)
    tighten: Tighten | None = None
    settled: float = math.inf
    engine: Engine | None = None
    time_limit: float = math.inf

    def bound(
        self,
        network: Network,
        inputs: InputSet,
        rows: Float[Tensor, "B S classes"],
        warm: Bounds | None,
    ) -> Bounds:
        return self.examine(network, inputs, rows, warm)[0]

    def examine(
        self,
        network: Network,
        inputs: InputSet,
        rows: Float[Tensor, "B S classes"],
        warm: Bounds | None,
    ) -> tuple[Bounds, str]:
        """The bounds, and what trouble a solver had, if any."""
        trouble, base = "", warm
        if self.before is not None or base is None:
            base = (self.before or Alpha()).bound(network, inputs, rows, warm)
        layers = {k: Interval(x.lower.clone(), x.upper.clone()) for k, x in base.layers.items()}
        margins = base.margins.clone()
        for k in range(len(rows)):
            one = torch.tensor([k], device=margins.device)
            todo = (~(margins[k] > self.settled)).nonzero().squeeze(1)
            if not len(todo):
                continue
            setting = Setting.of(network, inputs.select(one), base.select(one))
            if setting is None:
                continue
            if self.tighten is not None:
                setting = setting.tightened(self.tighten)
                for number, interval in setting.layers.items():
                    layers[number].lower[k] = interval.lower[0].to(margins.device)
                    layers[number].upper[k] = interval.upper[0].to(margins.device)
            found = self.solve(setting, rows[k][todo])
            trouble = next((one.trouble for one in found if one.trouble), trouble)
            better = torch.tensor([one.bound for one in found], dtype=margins.dtype)
            margins[k, todo] = torch.maximum(margins[k, todo], better.to(margins.device))
        return Bounds(layers, margins, base.slopes, base.duals), trouble

    def solve(self, setting: Setting, rows: Float[Tensor, "S classes"]) -> list[Solution]:
        """One program for each row."""
        value, asked = len(setting.network), list(rows.cpu().numpy())
        encoding = self.encoding(setting)
        return minimise_rows(encoding, value, asked, engine=self.engine, time_limit=self.time_limit)

    def encoding(self, setting: Setting) -> Encoding:
        """The constraints."""
        return setting.encoding()


@dataclass(frozen=True)
class ProveInner(Prove):
    """Bounds of neurons, for a program to use.

    With ``relaxation="planes"`` they are those of the set itself, whose neurons need not wait for
    one linear program each: any true bounds will do, and planes are still all that the program
    knows of its input.
    """

    def inputs(self, docket: Docket, which: Tensor) -> InputSet:
        """The set itself, where the program has planes."""
        return docket.members(which) if docket.relaxation == "planes" else docket.inputs(which)


@dataclass(frozen=True)
class ProveEach(Step):
    """Bound the margins of one image after the other, and keep what is proved when time is up."""

    name: str
    bounder: LinearProgram

    def __call__(self, docket: Docket, which: Tensor) -> None:
        known = docket.known(which)

        def work(place: int, k: int) -> None:
            one = torch.tensor([k], device=which.device)
            warm = None if known is None else known.select(torch.tensor([place]))
            with plain_products(docket.network):
                found, trouble = self.bounder.examine(
                    docket.network, docket.inputs(one), docket.rows[one], warm
                )
            docket.prove(one, found, self.name)
            docket.reasons[k] = trouble

        one_by_one(self.name, docket, which, work)


def one_by_one(name: str, docket: Docket, which: Tensor, work: Callable[[int, int], None]) -> None:
    """Work on images one after the other, by place and number, each with its share of time."""
    for (place, k), seconds in shared(list(enumerate(which.tolist()))):
        try:
            with limited(seconds):
                work(place, k)
        except TimeUp:
            docket.reasons[k] = f"the image's share of the time ended the step {name}"


@dataclass(frozen=True, eq=False)
class Setting:
    """One image's problem on the CPU: its polytope, and intervals (1, ...) of layers.

    ``inputs`` is the set itself, and ``where`` the network on its device.
    """

    where: Network
    inputs: InputSet
    network: Network
    polytope: Polytope
    box: Interval
    layers: Mapping[int, Interval]

    @staticmethod
    def of(network: Network, inputs: InputSet, bounds: Bounds) -> Setting | None:
        """That of a set with one image; None where nothing finite is known of some layer."""
        if inputs.boxed:
            inputs = Box(inputs.box)
        cpu = network.to("cpu", torch.float64)
        layers = {k: Interval(x.lower.cpu(), x.upper.cpu()) for k, x in bounds.layers.items()}
        box = Interval(inputs.box.lower.double().cpu(), inputs.box.upper.double().cpu())
        values = value_intervals(cpu, box, layers)
        if not all(bool(torch.isfinite(x.lower + x.upper).all()) for x in values):
            return None
        (polytope,) = inputs.polytope()
        return Setting(network, inputs, cpu, polytope, box, layers)

    def tightened(self, tighten: Tighten) -> Setting:
        """The same with better intervals."""
        layers = tighten(self.network, self.polytope, self.box, self.layers)
        return replace(self, layers=layers)

    def values(self) -> list[Interval]:
        """Intervals of all values."""
        return [one_of(x) for x in value_intervals(self.network, self.box, self.layers)]

    def encoding(self, *, exact: bool = False, widen: float = 0.0) -> Encoding:
        """The network over the polytope, up to the scores."""
        value = len(self.network)
        return encode(self.network, self.polytope, self.values(), value, exact=exact, widen=widen)

    @property
    def open(self) -> int:
        """How many neurons have a sign that is not known."""
        return sum(int(((x.lower < 0) & (x.upper > 0)).sum()) for x in self.layers.values())
