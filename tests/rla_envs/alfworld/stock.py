"""Play games on TextWorld's engine as it is shipped, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path


def stock_answers(games, folder):
    """Return the answers to the commands of each game: lists of text, commands and whether it is won."""
    (folder / "games.json").write_text(json.dumps(games))
    script = Path(__file__).with_name("play_stock.py")
    files = [str(folder / "games.json"), str(folder / "answers.json")]
    command = [sys.executable, "-W", "ignore", str(script), *files]
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return json.loads((folder / "answers.json").read_text())
