"""Game files as alfworld's data set has them: shared locations, distances, doubled facts, and all."""

import functools
import importlib.resources
import itertools
import json

from rla_envs.alfworld import shipped
from rla_envs.alfworld.game import GOAL_MARK, goal_text
from rla_envs.alfworld.names import mangle
from tests.rla_envs.alfworld.games import draw_scene

KINDS_OF_OBJECTS = ("Apple", "Chair", "Sink", "StoveKnob", "Window")
"""Types that every real problem declares, with an object of their name that is nowhere."""


@functools.cache
def poses(room):
    """Return where one stands to use each receptacle of a room; some share that with another."""
    path = f"gen/layouts/FloorPlan{room}-openable.json"
    return json.loads((importlib.resources.files("alfworld") / path).read_text())


def location(scene, identifier):
    """Return the name of the location of a receptacle."""
    pose = poses(scene.room).get(identifier)
    if pose is None:  # a copy that the generator added
        return f"loc_bar_{mangle(identifier)}"
    return "loc_bar_" + "_bar_".join(str(round(4 * x)).replace("-", "_minus_") for x in pose)


def real_problem(scene, start="loc_bar_0_bar_0_bar_0_bar_0"):
    """Return a scene as a problem in the words and the order of alfworld's data set."""
    table = shipped.constants()
    types = sorted({o.type for o in scene.objects} | {"Knife", "ButterKnife", *KINDS_OF_OBJECTS})
    kinds = sorted({r.type for r in scene.receptacles} | {"SinkBasin", "Microwave", "Fridge"})
    spots = {r.id: location(scene, r.id) for r in scene.receptacles}
    locations = sorted({start, *spots.values()})
    names = {o.id: mangle(o.id) for o in scene.objects} | {r.id: mangle(r.id) for r in scene.receptacles}
    lines = ["", "(define (problem plan_trial_T20190908_231731_054988)", "(:domain alfred)", "(:objects"]
    lines += ["agent1 - agent", *(f"        {name} - object" for name in types)]
    lines += [f"        {name}Type - otype" for name in types]
    lines += [f"        {name}Type - rtype" for name in kinds]
    lines += [f"        {names[o.id]} - object" for o in scene.objects]
    lines += ["        Chair_bar__plus_00_dot_40_bar__plus_00_dot_00_bar__plus_01_dot_72 - object"]
    lines += [f"        {names[r.id]} - receptacle" for r in scene.receptacles]
    lines += [f"        {name} - location" for name in locations]
    lines += ["        )", "", "", "(:init", "", ""]
    facts = [f"(receptacleType {names[r.id]} {r.type}Type)" for r in scene.receptacles]
    facts += [f"(objectType {names[o.id]} {o.type}Type)" for o in scene.objects]
    facts += ["(objectType Chair_bar__plus_00_dot_40_bar__plus_00_dot_00_bar__plus_01_dot_72 ChairType)"]
    facts += [  # once for each receptacle, so that most are doubled
        f"(canContain {r.type}Type {name}Type)"
        for r in scene.receptacles
        for name in sorted({o.type for o in scene.objects})
        if shipped.can_contain(r.type, name)
    ]
    abilities = {"pickupable": None, "isReceptacleObject": {"Bowl", "Mug", "Pan", "Plate", "Pot", "Cup"}}
    abilities |= {name.lower(): table.VAL_ACTION_OBJECTS[name] for name in ("Heatable", "Coolable")}
    abilities |= {name.lower(): table.VAL_ACTION_OBJECTS[name] for name in ("Cleanable", "Sliceable")}
    lamps = table.VAL_ACTION_OBJECTS["Toggleable"]
    for ability, able in abilities.items():
        facts += [
            f"({ability} {names[o.id]})"
            for o in scene.objects
            if (o.type not in lamps if able is None else o.type in able)
        ]
    facts += [f"(toggleable {names[o.id]})" for o in scene.objects if o.type in lamps]
    openable = [r for r in scene.receptacles if shipped.is_openable(r.type)]
    facts += [f"(openable {names[r.id]})" for r in openable]
    facts += [f"(opened {names[r.id]})" for r in openable if not r.closed]
    facts += [f"(atLocation agent1 {start})", "", "(= (total-cost) 0)"]
    facts += [f"(inReceptacle {names[o.id]} {names[r]})" for o in scene.objects for r in places(scene, o)]
    facts += [f"(receptacleAtLocation {names[r.id]} {spots[r.id]})" for r in scene.receptacles]
    facts += [f"(objectAtLocation {names[o.id]} {spots[o.inside]})" for o in scene.objects]
    facts += [
        f"(= (distance {one} {other}) {1 + number % 9})"
        for number, (one, other) in enumerate(itertools.permutations(locations, 2))
    ]
    lines += [f"        {fact}".rstrip() for fact in facts]
    return "\n".join([*lines, "        )", "", "", scene.goal.pddl()])


def places(scene, thing):
    """Return what a thing is in: a mug in a coffee machine is on the counter, too, if there is one."""
    counter = next((r.id for r in scene.receptacles if r.type == "CounterTop"), None)
    both = scene.place(thing.inside).type == "CoffeeMachine" and counter
    return [thing.inside, counter] if both else [thing.inside]


def real_game(scene, **changes):
    """Return the contents of a game file of a scene."""
    return {
        "pddl_domain": shipped.domain(),
        "grammar": shipped.grammar().replace(GOAL_MARK, goal_text(scene)),
        "pddl_problem": real_problem(scene),
        "solvable": True,
        "walkthrough": None,
        **changes,
    }


def write_game(root, split, name, scene=None, game=None, task_type=None):
    """Write one folder in the layout of the data set; a game of None leaves the game file out.

    Args:
        root: The folder that holds ``json_2.1.1``.
        split: One of the splits.
        name: ``TASK/TRIAL``.
        scene: The game's scene; drawn if none is given.
        game: Contents of the game file: an object, text as it is, or None.
        task_type: What the trajectory file says; that of the scene if None.
    """
    scene = scene or draw_scene(0, split, task_type="pick_and_place_simple", receptacles=6, objects=9)
    folder = root / "json_2.1.1" / split / name
    folder.mkdir(parents=True)
    trajectory = {"task_type": task_type or scene.goal.task_type, "task_id": name.split("/")[-1]}
    (folder / "traj_data.json").write_text(json.dumps(trajectory))
    if game is not None:
        text = game if isinstance(game, str) else json.dumps(game)
        (folder / "game.tw-pddl").write_text(text)
    return folder / "game.tw-pddl"
