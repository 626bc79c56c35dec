"""Games as the data set has them are played as by TextWorld, and solved as shortly as by its planner."""

import json
import re
from collections import Counter

import gymnasium as gym
import numpy as np
import pytest

from rla_envs import Task, TaskEdit
from rla_envs.alfworld import shipped
from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.alfworld.names import mangle
from rla_envs.alfworld.native.engine import NativeEngine
from rla_envs.alfworld.real_game import RealGame, payload_of, tidy
from rla_envs.alfworld.scene import HEAT, LIGHT, TASK_TYPES, TWO
from rla_envs.alfworld.search import find_plan
from rla_envs.conformance import check_adaptive_env, check_names
from rla_envs.errors import InputError, InvalidTaskError, RefusedEditError
from tests.rla_envs.alfworld.games import ENV_ID, draw_scene, plays_to_a_win
from tests.rla_envs.alfworld.real_files import location, real_game, real_problem, write_game
from tests.rla_envs.alfworld.stock import stock_answers
from tests.rla_envs.alfworld.test_env import run_python

textworld_engine = pytest.importorskip("rla_envs.alfworld.textworld_engine")

SPLIT = "valid_seen"


def texts_of(game):
    return {name: game[name] for name in ("pddl_domain", "grammar", "pddl_problem")}


def shared_scene(task_type, receptacles=8, objects=10, first=0):
    """Draw a scene in a room where some of the receptacles that matter share their location."""
    for seed in range(first, first + 300):
        scene = draw_scene(
            seed, SPLIT, task_type=task_type, receptacles=receptacles, objects=objects, hiding_depth=seed % 3
        )
        spots = Counter(location(scene, r.id) for r in scene.receptacles)
        ours = {r.id for r in scene.receptacles if r.type in (scene.goal.receptacle, scene.goal.device)}
        ours |= {o.inside for o in scene.targets()}
        if any(spots[location(scene, place)] > 1 for place in ours):
            return scene
    raise AssertionError(f"no such scene for {task_type}")


def in_two_places(scene):
    """Return a scene's problem in which one of the goal's objects is in a second place, too.

    Where it has to be cleaned, heated or cooled first, that is the place where it is to be in the end.
    """
    thing, there = scene.targets()[0], scene.goal.device is not None
    other = next(
        r for r in scene.receptacles if (r.type == scene.goal.receptacle) == there and r.id != thing.inside
    )
    problem = real_problem(scene)
    fact = f"(inReceptacle {mangle(thing.id)} {mangle(thing.inside)})"
    assert fact in problem
    return problem.replace(fact, f"{fact}\n{fact.replace(mangle(thing.inside), mangle(other.id))}")


@pytest.fixture(scope="module")
def engine():
    running = textworld_engine.TextWorldEngine()
    yield running
    running.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A split with two games of every task type."""
    root = tmp_path_factory.mktemp("alfworld")
    for number, task_type in enumerate(TASK_TYPES):
        for trial in (1, 2):
            scene = draw_scene(10 * number + trial, SPLIT, task_type=task_type, receptacles=7, objects=9)
            write_game(root, SPLIT, f"{task_type}-{number}/trial_{trial}", scene, real_game(scene))
    return root


@pytest.fixture
def real(folder, monkeypatch):
    monkeypatch.setenv("ALFWORLD_DATA", str(folder))
    env = gym.make(ENV_ID, data="alfred", split=SPLIT).unwrapped
    yield env
    env.close()


def test_every_answer_is_that_of_the_shipped_engine_on_the_file_itself(tmp_path):
    games, ours = [], []
    for number, task_type in enumerate((LIGHT, HEAT, TWO)):  # the engine as it is shipped takes its time
        game = texts_of(real_game(shared_scene(task_type, 7, 8)))
        real = RealGame(payload_of(game))
        assert max(Counter(real.layout.spots.values()).values()) > 1
        native, rng, commands = NativeEngine(), np.random.default_rng(number), []
        replies = [native.start(real.data)]
        for planned in [None] * 8 + ["", *next(real.plans()).commands] + [None] * 2:
            listed = replies[-1].commands
            commands.append(None if planned == "" else planned or listed[int(rng.integers(len(listed)))])
            replies.append(native.start(real.data) if planned == "" else native.step(commands[-1]))
        assert any(reply.won for reply in replies)
        games.append({"data": game, "commands": commands})
        ours.append([[reply.text, list(reply.commands), reply.won] for reply in replies])
    assert stock_answers(games, tmp_path) == ours


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_both_engines_give_the_same_answers_where_places_share_locations(engine, task_type):
    scene = shared_scene(task_type, 7, 9, first=20)
    data, native = RealGame(payload_of(texts_of(real_game(scene)))).data, NativeEngine()
    rng = np.random.default_rng(TASK_TYPES.index(task_type))
    reply = engine.start(data)
    assert native.start(data) == reply
    for _ in range(20):
        command = str(rng.choice(reply.commands))
        reply = engine.step(command)
        assert native.step(command) == reply


@pytest.mark.parametrize("twice", [False, True], ids=["in one place", "in two places"])
@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_plans_are_as_short_as_the_real_planners_where_places_share_locations(engine, task_type, twice):
    for first in (0, 40):
        scene = shared_scene(task_type, 6, 7, first)
        game = texts_of(real_game(scene))
        if twice:
            game["pddl_problem"] = in_two_places(scene)
        real = RealGame(payload_of(game))
        rng = np.random.default_rng(first)
        reply = engine.start(real.data)
        assert len(next(real.plans()).commands) == len(engine.planner_plan())
        for _ in range(int(rng.integers(2, 9))):
            useful = [c for c in reply.commands if not re.match("examine|look|inventory|help", c)]
            reply = engine.step(useful[int(rng.integers(len(useful)))])
        if reply.won:
            continue
        plan = real.plan_now(engine.facts(), ())
        assert len(plan) == len(engine.planner_plan())
        for command in plan:
            assert not reply.won
            reply = engine.step(command)
        assert reply.won


@pytest.mark.parametrize("name", ["native", "textworld"])
def test_a_task_is_played_alike_where_its_file_is_not(real, name, tmp_path, monkeypatch):
    task = real.sample_task(None, np.random.default_rng(0))
    first = real.reset(options={"task": task})
    plan = real.check_task(task).witness
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    elsewhere = AlfWorldEnv(engine=name)
    again = Task.from_json(task.to_json())
    assert (again, again.content_hash, hash(again)) == (task, task.content_hash, hash(task))
    assert elsewhere.reset(options={"task": again}) == first
    assert plays_to_a_win(elsewhere, again, plan)
    elsewhere.close()


def test_a_task_says_no_rules_and_texts_but_those_that_differ(real):
    task = real.dataset.task(real.dataset.games[0], ENV_ID, 5.0)
    assert set(task.payload) == {"game", "problem", "task"}
    assert task.payload["task"].startswith("Your task is to: ")
    scene = draw_scene(0, SPLIT, task_type=TASK_TYPES[1], receptacles=6, objects=9)
    game = texts_of(real_game(scene))
    spaced = game["pddl_domain"].replace("(:action help", "\n ; as ever\n(:action  help")
    assert set(payload_of({**game, "pddl_domain": spaced})) == {"problem", "task"}
    other = {**game, "grammar": game["grammar"].replace("You open the", "You pull the")}
    assert payload_of(other)["grammar"] == other["grammar"]
    ruled = {**game, "pddl_domain": game["pddl_domain"].replace("(isClean ?o)\n", "(isHot ?o)\n")}
    assert payload_of(ruled)["domain"] == ruled["pddl_domain"]


def test_tidying_leaves_out_what_says_nothing():
    goal = "(:goal (and\n(p a)\n(p a)))"
    text = f"(:init ; so\n\n   (p a) \n(= (distance a b) 3)\n(p a)\n (= (total-cost) 0))\n{goal}"
    assert tidy(text) == "(:init\n(p a)\n(= (total-cost) 0))\n" + goal


def test_every_game_of_a_split_is_drawn_and_can_be_won_from_any_moment(real):
    rng = np.random.default_rng(0)
    drawn = {real.sample_task(None, rng).payload["game"] for _ in range(120)}
    assert drawn == {game.id for game in real.dataset.games}
    for game in real.dataset.games:
        task = real.dataset.task(game, ENV_ID, 10.0)
        check = real.check_task(task)
        assert check.optimal_length == len(check.witness) == game.optimal_length
        _, info = real.reset(options={"task": task})
        assert info["rla"]["step_budget"] == 10 * game.optimal_length
        over = False
        for _ in range(6):
            *_, over, _, info = real.step(str(rng.choice(info["admissible_commands"])))
            if over:
                break
        assert over or [real.step(command)[2] for command in real.optimal_plan()][-1]


@pytest.mark.parametrize("check", check_names())
def test_the_environment_conforms_with_real_games(folder, monkeypatch, check):
    monkeypatch.setenv("ALFWORLD_DATA", str(folder))
    check_adaptive_env(ENV_ID, tasks=5, steps=12, checks=[check], data="alfred", split=SPLIT)


@pytest.mark.parametrize("check", ["spec_json", "equal_seeds", "solvable_tasks", "no_leaks"])
def test_the_environment_conforms_with_one_game_file(folder, check):
    path = next(folder.rglob("game.tw-pddl"))
    check_adaptive_env(ENV_ID, tasks=3, steps=12, checks=[check], game_file=str(path))


def test_real_games_need_none_of_the_packages_that_textworld_brings(folder):
    absent = ["textworld", "tatsu", "fast_downward", "spacy", "jericho", "networkx", "hashids", "cffi"]
    absent += [
        "mementos",
        "prompt_toolkit",
        "more_itertools",
        "tqdm",
        "termcolor",
        "torch",
        "alfworld.agents",
    ]
    code = f"import sys; sys.modules.update(dict.fromkeys({absent}))\n"
    code += f"import gymnasium, rla_envs\nenv = gymnasium.make({ENV_ID!r}, data='alfred', split={SPLIT!r})\n"
    code += "env.reset(seed=0)\nprint([env.step(c)[2] for c in env.unwrapped.optimal_plan()][-1])"
    assert run_python("-c", code, ALFWORLD_DATA=str(folder)) == "True\n"


def test_a_game_file_is_that_game_whatever_the_seed(folder):
    path = sorted(folder.rglob("game.tw-pddl"))[0]
    env = gym.make(ENV_ID, game_file=str(path)).unwrapped
    assert env.reset(seed=0) == env.reset(seed=1)
    with pytest.raises(InputError, match="unknown difficulty parameter 'task_type'"):
        env.reset(options={"difficulty": {"task_type": "pick_two_obj_and_place"}})


def test_real_games_are_played_as_they_are(real):
    task = real.sample_task(None, np.random.default_rng(0))
    edit = TaskEdit(({"op": "set_step_budget", "value": 2.0},))
    with pytest.raises(RefusedEditError, match="is played as it is"):
        real.apply_edit(task, edit)
    assert list(real.propose_edits(task, "harder", np.random.default_rng(0))) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"problem": "(define"}, "PDDL problem: a ')' is missing"),
        ({"problem": 3}, "problem: expected text"),
        ({"task": "go to {open('x')}"}, "task: expected a sentence of plain words"),
        ({"task": '"}], "intro": [{"rhs": "'}, "task: expected a sentence of plain words"),
        ({"grammar": 'action look { template :: "{open(\'x\')}"; feedback :: ""; }'}, "text"),
        ({"walkthrough": "look"}, "walkthrough: expected"),
        ({"luck": 1}, "field 'luck' is unknown"),
        ({"problem": "x" * 2**21}, "problem: expected text of at most"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_payload_that_is_no_game_is_refused_for_either_engine(real, changes, reason):
    task = real.sample_task(None, np.random.default_rng(0))
    bad = Task(ENV_ID, task.difficulty, {**task.payload, **changes})
    for name in ("native", "textworld"):
        check = AlfWorldEnv(engine=name).check_task(bad)
        assert not check.valid
        assert reason in check.reason


def test_a_task_that_states_another_difficulty_than_its_games_is_refused(real):
    task = real.sample_task({"task_type": 1}, np.random.default_rng(0))
    for stated in ({"task_type": 2}, {}, {"receptacles": 7}):
        bad = Task(ENV_ID, {"step_budget": 5.0, **stated}, task.payload)
        assert not real.check_task(bad).valid
    assert "step_budget" in real.check_task(Task(ENV_ID, {"task_type": 1}, task.payload)).reason


# --- Files from before alfworld 0.4, and games with other rules. ---


def old_file(tmp_path, task_type="pick_and_place_simple"):
    """Write a game as the data set had it before 0.4: other words for putting, no help."""
    game = real_game(draw_scene(0, SPLIT, task_type=task_type, receptacles=6, objects=9))
    texts = game["grammar"].replace("move {o} to {r}", "put {o} in/on {r}")
    texts = texts.replace(
        "You move the {o.name} to the {r.name}.", "You put the {o.name} in/on the {r.name}."
    )
    game["grammar"] = texts.split("action help")[0]  # the last one
    game["pddl_domain"] = re.sub(r"\(:action help.*?\n\)", "", game["pddl_domain"], flags=re.DOTALL)
    (tmp_path / "game.tw-pddl").write_text(json.dumps(game))
    return tmp_path / "game.tw-pddl"


@pytest.mark.parametrize("verbs", ["move", "put"])
@pytest.mark.parametrize("name", ["native", "textworld"])
def test_a_file_from_before_0_4_keeps_its_own_words(tmp_path, name, verbs):
    env = gym.make(ENV_ID, engine=name, verbs=verbs, game_file=str(old_file(tmp_path))).unwrapped
    _, info = env.reset(seed=0)
    assert "help" not in info["admissible_commands"]
    check = env.check_task(env.task)
    assert check.optimal_length == len(check.witness)
    *before, last = env.optimal_plan()
    for command in before:
        env.step(command)
    assert re.fullmatch(r"put .+ in/on .+", last)
    new = last.replace("put ", "move ").replace(" in/on ", " to ")
    assert env.step(new)[-1]["rla"]["last_action_error"].endswith(f"the accepted form is {last!r}")
    observation, reward, *_ = env.step(last)
    assert observation.startswith("You put the ")
    assert reward == 1.0
    env.close()


FULL = "(canContain ?rt ?ot) (not (full ?r))"
"""A condition more for putting things down, which alfworld's domain has not got."""


def other_rules(scene, **changes):
    game = real_game(scene)
    domain = game["pddl_domain"].replace("(canContain ?rt ?ot)\n", f"{FULL}\n")
    assert domain != game["pddl_domain"]
    return {**game, "pddl_domain": domain, **changes}


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_the_search_finds_plans_as_short_as_those_in_closed_form(task_type):
    scene = shared_scene(task_type, 6, 7)
    searched = RealGame(payload_of(other_rules(scene)))
    assert searched.layout is None
    (plan,) = searched.plans()
    assert plan.shortest
    assert len(plan.commands) == len(next(RealGame(payload_of(real_game(scene))).plans()).commands)


def test_with_other_rules_a_walkthrough_is_the_witness_and_the_shortest_is_not_known(tmp_path):
    scene = draw_scene(0, SPLIT, task_type="pick_and_place_simple", receptacles=6, objects=9)
    plan = next(RealGame(payload_of(real_game(scene))).plans()).commands
    file = tmp_path / "game.tw-pddl"
    for walkthrough in (["look", *plan, "look", "help"], ["dance"]):
        file.write_text(json.dumps(other_rules(scene, walkthrough=walkthrough)))
        env = gym.make(ENV_ID, game_file=str(file)).unwrapped
        _, info = env.reset(seed=0)
        check = env.check_task(env.task)
        searched = walkthrough == ["dance"]
        assert check.witness == (plan if searched else ("look", *plan))
        assert check.optimal_length == (len(plan) if searched else None)
        assert info["rla"]["step_budget"] == 5 * len(check.witness)
        assert plays_to_a_win(env, env.task, check.witness)


def test_a_search_that_gives_up_says_how_far_it_went_and_one_that_tried_everything_too(monkeypatch):
    scene = draw_scene(0, SPLIT, task_type="pick_two_obj_and_place", receptacles=6, objects=9)
    game = RealGame(payload_of(other_rules(scene)))
    monkeypatch.setattr(
        "rla_envs.alfworld.real_game.find_plan", lambda *arguments: find_plan(*arguments, limit=7)
    )
    with pytest.raises(InvalidTaskError) as caught:
        list(game.plans())
    assert str(caught.value) == (
        "no plan was found within 7 expansions; there is no closed form because "
        "its rules are not those of the installed alfworld"
    )
    monkeypatch.undo()
    table = next(r for r in scene.receptacles if not shipped.is_openable(r.type))
    goal = f"(:goal (opened {mangle(table.id)})))"
    nowhere = {**real_game(scene), "pddl_problem": real_problem(scene).replace(scene.goal.pddl(), goal)}
    with pytest.raises(InvalidTaskError, match="no plan reaches the goal: everything was tried"):
        list(RealGame(payload_of(nowhere)).plans())


def test_in_a_game_with_other_rules_there_is_a_plan_from_any_moment(tmp_path):
    scene = draw_scene(0, SPLIT, task_type="pick_and_place_simple", receptacles=6, objects=9)
    (tmp_path / "game.tw-pddl").write_text(json.dumps(other_rules(scene)))
    env = gym.make(ENV_ID, game_file=str(tmp_path / "game.tw-pddl")).unwrapped
    _, info = env.reset(seed=0)
    whole = env.optimal_plan()
    assert env.step("dance")[0] == "Nothing happens."
    env.step(whole[0])
    assert env.optimal_plan() == whole[1:]
    assert [env.step(command)[2] for command in env.optimal_plan()][-1]
    assert env.optimal_plan() == ()


def test_a_goal_of_another_kind_has_no_task_type_and_is_played_all_the_same(tmp_path):
    scene = draw_scene(0, SPLIT, task_type="pick_and_place_simple", receptacles=6, objects=9)
    place = next(r for r in scene.receptacles if r.closed)
    goal = f"(:goal (opened {mangle(place.id)})))"
    game = {**real_game(scene), "pddl_problem": real_problem(scene).replace(scene.goal.pddl(), goal)}
    (tmp_path / "game.tw-pddl").write_text(json.dumps(game))
    env = gym.make(ENV_ID, game_file=str(tmp_path / "game.tw-pddl")).unwrapped
    _, info = env.reset(seed=0)
    assert info["rla"]["difficulty"] == {"step_budget": 5.0}
    assert len(env.optimal_plan()) == 2
    assert plays_to_a_win(env, env.task, env.optimal_plan())
    with pytest.raises(InputError, match="unknown difficulty parameter 'task_type'"):
        env.reset(options={"difficulty": {"task_type": 0}})
