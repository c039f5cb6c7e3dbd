"""The type checker that watches the package while it is tested."""

from __future__ import annotations

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
"""As mypy has it: where a float is wanted, an int will do."""
