"""Many problems: what is asked, every verdict kept, and who computes them."""

from warpcert.run.apart import Apart
from warpcert.run.consistency import Consistency
from warpcert.run.desk import Desk
from warpcert.run.gallery import Gallery, find_indices
from warpcert.run.here import Here
from warpcert.run.item import Item, Shard
from warpcert.run.merge import choose, merge
from warpcert.run.results import Results, read_results
from warpcert.run.row import Row
from warpcert.run.runner import Runner
from warpcert.run.source import NetworkSource
from warpcert.run.store import Store, StoreError
from warpcert.run.task import Task
from warpcert.run.witness import Witness

__all__ = [
    "Apart",
    "Consistency",
    "Desk",
    "Gallery",
    "Here",
    "Item",
    "NetworkSource",
    "Results",
    "Row",
    "Runner",
    "Shard",
    "Store",
    "StoreError",
    "Task",
    "Witness",
    "choose",
    "find_indices",
    "merge",
    "read_results",
]
