"""The attacks of ``attacks.toml``."""

import tomllib
from pathlib import Path
from typing import NamedTuple

_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

PRELUDE = _FILE["prelude"]


class Attack(NamedTuple):
    """One program and what must come of it; the fields are described in the file."""

    name: str
    layer: str
    source: str
    ends: tuple[str, ...] = ("ok",)
    breaks_out: bool = False


ATTACKS = [Attack(**attack) for attack in _FILE["attack"]]
FORGERIES = {forgery["name"]: forgery["source"] for forgery in _FILE["forgery"]}
