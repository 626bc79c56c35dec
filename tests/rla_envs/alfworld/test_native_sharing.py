"""What is read or compiled in a faster way, or for many games at once, is what each game alone would give."""

import random

import numpy as np
import pytest

from rla_envs.alfworld import shipped
from rla_envs.alfworld.game import game_data
from rla_envs.alfworld.native import engine as engine_module
from rla_envs.alfworld.native import pddl, playbook, trees
from rla_envs.alfworld.native.engine import NativeEngine
from rla_envs.errors import InvalidTaskError
from tests.rla_envs.alfworld.games import draw_scene

PIECES = (
    "(",
    ")",
    "(",
    ")",
    ")\n(",
    " ",
    "\n",
    "\t",
    "a",
    "B",
    "?x",
    "a?b",
    "-",
    "; c ) ?\n",
    "Tür",
    "=",
    "not",
)


def outcome(read, *arguments):
    """Return what a reader gives, or that it refuses."""
    try:
        return read(*arguments)
    except InvalidTaskError:
        return "refused"


def texts():
    """Yield game texts, whole and with something changed, and random ones."""
    rng = random.Random(0)
    problem = game_data(draw_scene(0, receptacles=6, objects=6))["pddl_problem"]
    whole = [problem, shipped.domain(), problem.replace("\n", "\n   "), problem.replace("\n", " ; x\n")]
    yield from whole
    for _ in range(200):
        text = list(rng.choice(whole))
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(text))
            text[place : place + rng.randint(0, 2)] = rng.choice(PIECES)
        yield "".join(text)
    for _ in range(3000):
        yield "(" + "".join(rng.choices(PIECES, k=rng.randint(1, 12))) + rng.choice((")", "", ")\n", "))"))
    for depth in (58, 59, 60, 61):
        yield "(" * depth + ")" * depth


def test_reading_many_words_at_a_time_gives_what_reading_word_by_word_gives():
    found = {"whole": 0, "refused": 0}
    for text in texts():
        slow = outcome(trees._checked_tree, text, "text")
        fast = trees._sound_tree(text)
        assert fast is None or fast == slow, text
        assert outcome(trees.read_tree, text, "text") == slow
        found["refused" if slow == "refused" else "whole"] += 1
    assert min(found.values()) > 100


@pytest.mark.parametrize(
    "init",
    [
        [["opened", "a"], ["at", "a", "b"], ["opened", "a"], ["opened", "b"]],
        [["opened", "a"], ["=", ["total-cost"], "0"], ["=", "a", "b"]],
        [["not", ["opened", "a"]], ["opened", "b"]],
        [["not", ["opened", "a"]], ["opened", "a"]],
        [["opened", "c"]],
        [["opened", "a", "b"]],
        [["closed", "a"]],
        [["opened", ["a"]]],
        [[["opened"], "a"]],
        [[]],
        ["opened"],
        [],
    ],
)
def test_checking_facts_together_gives_what_checking_them_one_by_one_gives(init):
    objects, arity = {"a": "object", "b": "object"}, {"opened": 1, "at": 2, "=": 2}
    slow = outcome(pddl._checked_facts, init, objects, arity)
    fast = pddl._sound_facts(init, objects, arity)
    assert fast is None or fast == slow
    assert outcome(pddl._facts, init, objects, arity) == slow


def play(data):
    """Play a game in an engine that knows nothing of it."""
    engine_module._compiled.cache_clear()
    engine, rng = NativeEngine(), np.random.default_rng(1)
    replies = [engine.start(data)]
    for _ in range(60):
        commands = replies[-1].commands
        replies.append(engine.step(commands[int(rng.integers(len(commands)))]))
    return replies


def test_a_game_plays_the_same_whatever_games_were_compiled_before():
    small, large = (
        game_data(draw_scene(5, receptacles=r, objects=o, task_type="pick_heat_then_place_in_recep"))
        for r, o in ((6, 6), (20, 40))
    )
    playbook._books.cache_clear()
    alone = play(large)
    playbook._books.cache_clear()
    engine = NativeEngine()
    engine.start(small)
    rules = engine._game.rules
    (book,) = playbook._books(rules)
    book.expected.fits = lambda facts: True  # even a playbook for games of another size is right
    assert play(large) == alone
    assert len(playbook._books(rules)) == 1
    playbook._books.cache_clear()


def test_games_of_very_different_sizes_get_playbooks_of_their_own_and_few():
    playbook._books.cache_clear()
    engine = NativeEngine()
    for seed, (receptacles, objects) in enumerate([(6, 6), (6, 7), (7, 6), (30, 60), (30, 61)]):
        engine.start(game_data(draw_scene(seed, receptacles=receptacles, objects=objects)))
    assert 1 < len(playbook._books(engine._game.rules)) <= 4
