"""AlfWorld's edit language as a table that programs read; :mod:`rla_envs.alfworld.edits` carries it out."""

from __future__ import annotations

from rla_envs.alfworld.difficulty import PARAMETERS
from rla_envs.alfworld.scene import LIGHT, TASK_TYPES
from rla_envs.edit_language import EditField, EditOperation

SEARCHING = "searching"
UNOPENED = "closed containers"
WRONG_OBJECT = "wrong object"
WRONG_DEVICE = "wrong device"
WRONG_PLACE = "wrong place"
IMPOSSIBLE = "impossible commands"
# What steps are lost on; rla_envs.alfworld.diagnosis tells them apart.

_PLACE = "name of a place"
_OBJECT = "name of an object"
LIMITS = {p.name: (p.low, p.high) for p in PARAMETERS}
"""Smallest and largest value of each difficulty parameter."""

EDIT_OPERATIONS = (
    EditOperation(
        "set_goal",
        (
            EditField("task_type", str, f"one of {', '.join(TASK_TYPES)}", True, (WRONG_DEVICE,)),
            EditField("object", str, "type of an object that is here", True, (WRONG_OBJECT,)),
            EditField(
                "receptacle",
                str,
                f"type of a place that is here; for {LIGHT} type of a lamp that is here",
                True,
                (WRONG_PLACE,),
            ),
        ),
        "change any of the three; the text follows",
    ),
    EditOperation(
        "add_object",
        (EditField("type", str, "type of the object"), EditField("in", str, _PLACE)),
        "put a new object somewhere",
        (WRONG_OBJECT,),
    ),
    EditOperation(
        "move_object",
        (EditField("object", str, _OBJECT), EditField("to", str, _PLACE)),
        "move one object or lamp",
    ),
    EditOperation(
        "remove_object",
        (EditField("object", str, _OBJECT),),
        "take one object away",
        (WRONG_OBJECT,),
    ),
    EditOperation(
        "hide_target",
        (EditField("in", str, _PLACE),),
        "move the goal's own objects there",
        (SEARCHING, UNOPENED),
    ),
    EditOperation(
        "set_distractors",
        (EditField("value", int, "an integer from {:.0f} to {:.0f}".format(*LIMITS["distractors"])),),
        "have so many more of the goal's type",
        (SEARCHING,),
    ),
    EditOperation(
        "open",
        (EditField("receptacle", str, _PLACE),),
        "let a container start open",
        (UNOPENED,),
    ),
    EditOperation(
        "close",
        (EditField("receptacle", str, _PLACE),),
        "let a container start closed",
        (UNOPENED,),
    ),
    EditOperation(
        "add_receptacle",
        (EditField("type", str, "type of place that the room can have"),),
        "have one more place",
        (SEARCHING,),
    ),
    EditOperation(
        "remove_receptacle",
        (EditField("receptacle", str, _PLACE),),
        "take an empty place away",
        (SEARCHING,),
    ),
    EditOperation(
        "set_step_budget",
        (
            EditField(
                "value",
                float,
                "a number from {:g} to {:g}, a multiple of the shortest solution".format(
                    *LIMITS["step_budget"]
                ),
            ),
        ),
        "change how many steps are allowed",
        (IMPOSSIBLE,),
    ),
    EditOperation(
        "name_place",
        (EditField("value", bool, "true or false"),),
        "say where the goal's objects are, or not",
        (SEARCHING,),
    ),
)
"""Every operation; the order is that of the table in :mod:`rla_envs.alfworld.edits`."""
