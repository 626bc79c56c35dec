"""A refused command is answered with the accepted form of what it seems to mean."""

import pytest

from rla_envs.alfworld.commands import refusal

HERE = ("close drawer 1", "examine mug 1", "go to desk 1", "inventory", "look", "move mug 1 to drawer 1")


@pytest.mark.parametrize(
    "command",
    [
        "put mug 1 in/on drawer 1",
        "put mug 1 in / on drawer 1",
        "put mug 1 in drawer 1",
        "put mug 1 on drawer 1",
        "put mug 1 into drawer 1",
        "place mug 1 onto drawer 1",
        "PUT Mug 1 IN Drawer 1",
        "move mug 1 in drawer 1",
        "  put   mug 1  in drawer 1 ",
    ],
)
def test_another_way_to_place_something_is_answered_with_the_accepted_one(command):
    assert refusal(command, HERE).endswith("the accepted form is 'move mug 1 to drawer 1'")


def test_placing_what_cannot_be_placed_now_names_the_form_and_its_conditions():
    text = refusal("put mug 1 in/on desk 1", HERE)
    assert "'move OBJECT to RECEPTACLE'" in text
    assert "must be open" in text


def test_the_accepted_form_is_not_recommended_to_who_used_it():
    assert "accepted form" not in refusal("move mug 1 to safe 1", HERE)


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("goto desk 1", "go to desk 1"),
        ("Look", "look"),
        ("examine mug1", "examine mug 1"),
        ("close drawer 2", "close drawer 1"),
    ],
)
def test_a_slip_is_answered_with_the_closest_command(command, meant):
    assert refusal(command, HERE).endswith(f"did you mean {meant!r}?")


@pytest.mark.parametrize("command", ["", "   ", "\n"])
def test_an_empty_command_is_called_empty(command):
    assert refusal(command, HERE) == "expected a command, got an empty one"


@pytest.mark.parametrize("command", ["dance", "put " + "a" * 10**6, "x\ny\r\nz", "приготовь яйцо", "{1+1}"])
def test_the_answer_is_one_short_line_whatever_came(command):
    text = refusal(command, HERE)
    assert "is not an admissible command" in text
    assert "\n" not in text
    assert len(text) < 300
