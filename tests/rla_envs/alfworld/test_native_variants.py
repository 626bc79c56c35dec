"""Games with other rules and texts are played as by TextWorld, or what is not understood is named."""

import re
from dataclasses import dataclass

import numpy as np
import pytest

from rla_envs.alfworld.game import game_data
from rla_envs.alfworld.native.engine import NativeEngine
from rla_envs.errors import InvalidTaskError
from tests.rla_envs.alfworld.games import draw_scene
from tests.rla_envs.alfworld.stock import stock_answers

textworld_engine = pytest.importorskip("rla_envs.alfworld.textworld_engine")


@dataclass(frozen=True)
class Variant:
    """A game whose rules or texts differ: what is replaced in which part of the data, all of it found."""

    name: str
    changes: tuple = ()
    seed: int = 0
    task_type: str = "pick_and_place_simple"

    def data(self):
        scene = draw_scene(self.seed, task_type=self.task_type, receptacles=6, objects=9)
        data = dict(game_data(scene))
        for part, old, new in self.changes:
            key = {"domain": "pddl_domain", "texts": "grammar", "problem": "pddl_problem"}[part]
            changed = re.sub(old, new, data[key])
            assert changed != data[key], (self.name, old)
            data[key] = changed
        return data


def feedback(name, *versions):
    """Return a change that puts other versions in place of a rule's; each is a text and maybe a condition."""
    listed = ", ".join(
        "{" + f'"rhs": "{rhs}"' + "".join(f', "condition": "{c}"' for c in condition) + "}"
        for rhs, *condition in versions
    )
    pattern = rf'(?s)"{re.escape(name)}": \[\s*\{{.*?\}}\n\s*\]'
    return ("texts", pattern, f'"{name}": [{listed}]'.replace("\\", "\\\\"))


REST = """(:action rest
    :parameters (?a - agent)
    :precondition (and (not (holdsAny ?a))
                       (forall (?r - receptacle) (or (not (openable ?r)) (not (opened ?r)))))
    :effect (and (examined ?a)))
(:action help"""
TIDY_GOAL = """(:goal (and (forall (?r - receptacle) (not (opened ?r)))
    (exists (?o - object ?p - object)
            (and (not (= ?o ?p)) (or (holds agent1 ?o) (isClean ?p)))))))"""
SEEN = "{o.name | inreceptacle(o:object, r:receptacle)}"
VARIANTS = (
    Variant("the goal is worded otherwise", (("texts", "Your task is to: [^.]*", "Do (it), don't wait"),)),
    Variant("the goal has symbols", (("texts", "Your task is to: ", "{'Now' + ': '}#list_empty# "),)),
    Variant(
        "a list without separators",
        (feedback("examineReceptacle.feedback", (f"You see {SEEN} and [{SEEN}] here",)),),
    ),
    Variant("text after a bracket is lost", (feedback("CloseObject.feedback", ("You close it] at once.",)),)),
    Variant("quoted text", (feedback("CloseObject.feedback", ('\\"a|b;c\\" {r.name}',)),)),
    Variant("white space at the start", (feedback("CloseObject.feedback", ("\\n  // no\\n  Shut.\\n ",)),)),
    Variant(
        "ids, types and articles",
        (feedback("CloseObject.feedback", ("{r.definite + ' ' + r.type} {r.id} {l.name}!",)),),
    ),
    Variant("all moves are called the same", (("texts", r'"go to \[.*\]"', '"walk"'),)),
    Variant("moves are called by their end", (("texts", r'"go to \[.*\]"', '"go to {lend}"'),)),
    Variant("things are taken without a name", (("texts", r'"take \{o\} from \{r\}"', '"take"'),)),
    Variant(
        "every command on a thing is called the same",
        (
            ("texts", r'"(take|move|heat|cool|clean) \{o\} (from|to|with) \{r\}"', '"do"'),
            ("texts", r'"(use|examine) \{[or]\}"', '"do"'),
            ("texts", r'"(open|close) \{r\}"', '"do"'),
        ),
    ),
    Variant(
        "what is on and what is not is told",
        (
            feedback(
                "examineObject.feedback",
                ("It is on.", "ison(o:object)"),
                ("It is off.", "not_ison(o:object)"),
                ("It is dirty.", "!isclean(o:object)"),
                ("It is {o.name}.",),
            ),
            (
                "texts",
                r'"use \{o\}";\s*feedback :: "#toggleObject.feedback#"',
                '"use {o}"; feedback :: "#examineObject.feedback#"',
            ),
        ),
        task_type="look_at_obj_in_light",
    ),
    Variant(
        "what left its place is told",
        (
            feedback(
                "inventory.feedback",
                ("[{o.name + ' not in ' + r.name | not_inreceptacle(o:object, r:receptacle)}]",),
            ),
        ),
    ),
    Variant(
        "taking something empties the hand's memory",
        (
            (
                "domain",
                r"\(holdsAny \?a\)\s*\(not \(objectAtLocation",
                "(holdsAny ?a) (not (isCool ?o)) (not (objectAtLocation",
            ),
            feedback("inventory.feedback", ("[{o.name | not_iscool(o:object)}]",)),
        ),
        task_type="pick_cool_then_place_in_recep",
    ),
    Variant(
        "opening shows all that is inside",
        (
            (
                "domain",
                r"\(opened \?r\)\s*\(checked \?r\)",
                "(opened ?r) (forall (?x - object) (when (inReceptacle ?x ?r) (moveable ?x)))",
            ),
            feedback("inventory.feedback", ("[{o.name | moveable(o:object)}]",)),
        ),
    ),
    Variant(
        "heavy things are of a type of their own",
        (
            ("domain", r"(?s)\(:types.*?otype", r"\g<0> fixed lamp - object small - lamp"),
            ("problem", r"(?m)^([A-L]\w*_bar_\w*) - object", r"\1 - lamp"),
            ("problem", r"(?m)^([M-Z]\w*_bar_\w*) - object", r"\1 - small"),
        ),
        seed=3,
    ),
    Variant(
        "an action that needs nothing of something",
        (
            (
                "domain",
                r"\(:action help",
                REST,
            ),
            (
                "texts",
                "action help",
                'action rest { template :: "rest"; feedback :: "You rest."; }\naction help',
            ),
        ),
    ),
    Variant(
        "an action that changes nothing",
        (("domain", r"\(and\s*\(checked \?a\)\s*\)", "(and (not (checked ?a)))"),),
    ),
    Variant(
        "the goal is that nothing is open and something is held",
        (
            (
                "problem",
                r"(?s)\(:goal.*",
                TIDY_GOAL,
            ),
        ),
    ),
    Variant("states are told at the overview", (("texts", r"#overview\(r\)#", "#overview_with_state(r)#"),)),
)


@pytest.fixture(scope="module")
def variant_answers(tmp_path_factory):
    """Play every variant natively, then all of them on the shipped engine, with the same commands."""
    games, ours = [], []
    for number, variant in enumerate(VARIANTS):
        rng, native, data = np.random.default_rng(number), NativeEngine(), variant.data()
        replies, commands = [native.start(data)], []
        for _ in range(25):
            # Commands on things are rarer than moves, and tell more.
            told = [c for c in replies[-1].commands if not c.startswith(("go ", "help", "look"))]
            choice = told if told and rng.random() < 0.7 else replies[-1].commands
            commands.append(choice[int(rng.integers(len(choice)))])
            replies.append(native.step(commands[-1]))
        games.append({"data": data, "commands": commands})
        ours.append([[reply.text, list(reply.commands), reply.won] for reply in replies])
    return ours, stock_answers(games, tmp_path_factory.mktemp("variants"))


@pytest.mark.parametrize("number", range(len(VARIANTS)), ids=[variant.name for variant in VARIANTS])
def test_a_game_with_other_rules_or_texts_is_played_as_by_textworld(variant_answers, number):
    ours, stock = variant_answers
    assert ours[number] == stock[number]


def test_a_game_that_can_never_be_won_is_refused_as_by_textworld():
    data = Variant("", (("problem", r"\(pickupable [^)]*\)", ""),)).data()
    reference = textworld_engine.TextWorldEngine()
    for engine, message in (
        (reference, "cannot load"),
        (NativeEngine(), "PDDL goal: nothing that can be done"),
    ):
        with pytest.raises(InvalidTaskError, match=message):
            engine.start(data)
    reference.close()
    assert not NativeEngine(check_goal=False).start(data).won


WRONG = (
    (
        ("domain", r"\(:action OpenObject", "(:action OpenObjects"),
        "text of action openobjects: it is missing",
    ),
    (
        ("domain", r"\(openable \?r\)\s*\(at", "(lockable ?r) (at"),
        "PDDL action openobject: unknown predicate: 'lockable'",
    ),
    (
        ("domain", r"\(opened \?r\)\s*\(checked", "(opened) (checked"),
        "PDDL action openobject: predicate opened takes 1",
    ),
    (
        ("domain", r"\(:functions", "(:derived (x) (y)) (:functions"),
        "PDDL domain: ':derived' is not supported",
    ),
    (
        ("domain", r"\(increase \(total-cost\) 1\)", "(assign (total-cost) 1)"),
        "PDDL action .*: expected a predicate with arguments, got .'assign'",
    ),
    (("domain", r"\)\s*$", ""), "PDDL domain: a '\\)' is missing at the end"),
    (("problem", "atLocation agent1", "atLocation nobody"), "PDDL init: unknown object 'nobody'"),
    (("problem", "atLocation agent1", "isAt agent1"), "PDDL init: predicate 'isat' of .* is unknown"),
    (
        ("problem", r"agent1 - agent", "agent1 - robot"),
        "PDDL objects: 'agent1' is of an unknown type 'robot'",
    ),
    (("problem", "agent1 - agent", "agent1 - location"), "PDDL goal: nothing|is there an agent"),
    (("problem", r"\(:goal", "(:aim"), "PDDL problem: ':aim' is not supported"),
    (("problem", r"$", ")"), r"PDDL problem: line \d+: unexpected '\)'"),
    (
        feedback("CloseObject.feedback", ("{r.name.upper()}",)),
        "text rule 'CloseObject.feedback': the expression",
    ),
    (
        feedback("CloseObject.feedback", ("{__import__('os').name}",)),
        "text rule 'CloseObject.feedback': the expression",
    ),
    (
        feedback("CloseObject.feedback", ("{x.name}",)),
        "text rule 'CloseObject.feedback': nothing is called 'x'",
    ),
    (
        feedback("CloseObject.feedback", ("#shut#",)),
        "text rule 'CloseObject.feedback': there is no text rule 'shut'",
    ),
    (
        feedback("CloseObject.feedback", ("Shut.", "opened(r:box)")),
        "text rule 'CloseObject.feedback': unknown type 'box'",
    ),
    (
        feedback("CloseObject.feedback", ("Shut.", "opened r")),
        "text rule 'CloseObject.feedback': expected predicates",
    ),
    (
        feedback("CloseObject.feedback", ("#CloseObject.feedback#",)),
        "text rule 'CloseObject.feedback': .* in circles",
    ),
    (
        ("texts", r'template :: "close \{r\}";', ""),
        "text of action CloseObject: expected a template and a feedback",
    ),
    (("texts", r"action CloseObject", "act CloseObject"), r"text grammar: line \d+: expected 'action'"),
    (("texts", r'"rhs": "You close', '"rhs" "You close'), "text grammar: the rules are not JSON"),
)


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_is_not_understood_is_named(change, message):
    native = NativeEngine()
    data = Variant("", (change,)).data()
    with pytest.raises(InvalidTaskError, match=message) as caught:
        open_and_close_everything(native, data)
    assert "\n" not in str(caught.value)


def open_and_close_everything(engine, data):
    for place in [c for c in engine.start(data).commands if c.startswith("go to")]:
        for verb in ("go to", "open", "close"):
            engine.step(place.replace("go to", verb))


def test_a_rule_without_a_version_that_fits_is_named_when_it_is_needed():
    change = feedback("CloseObject.feedback", ("Shut.", "isclean(r:receptacle)"))
    with pytest.raises(InvalidTaskError, match="'CloseObject.feedback': no version of the text fits"):
        open_and_close_everything(NativeEngine(), Variant("", (change,)).data())
