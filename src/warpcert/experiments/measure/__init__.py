"""Measurements that are no verdicts: accuracies, coverage, running times of the geometry."""

from warpcert.experiments.measure.accuracy import Accuracy
from warpcert.experiments.measure.coverage import Coverage
from warpcert.experiments.measure.geometry import GeometryTimes
from warpcert.experiments.measure.measurement import Measurement

__all__ = ["Accuracy", "Coverage", "GeometryTimes", "Measurement"]
