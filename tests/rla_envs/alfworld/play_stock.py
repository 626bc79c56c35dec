"""Play games on TextWorld's engine as it is shipped, with nothing of ours imported.

Usage: python play_stock.py GAMES.json ANSWERS.json. A command of null starts the game again.
"""

import json
import sys

import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
from textworld.envs import PddlEnv


def answer(state):
    return [state["feedback"], list(state["admissible_commands"]), bool(state["won"])]


def main(games_path, answers_path):
    with open(games_path) as file:
        games = json.load(file)
    env = AlfredDemangler(PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True)))
    transcripts = []
    for game in games:
        env.load(game["data"])
        transcripts.append([answer(env.reset())])
        for command in game["commands"]:
            transcripts[-1].append(answer(env.reset() if command is None else env.step(command)[0]))
    assert not any(name.startswith("rla") for name in sys.modules)
    with open(answers_path, "w") as file:
        json.dump(transcripts, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
