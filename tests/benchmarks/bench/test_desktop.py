"""Desktops in the leaderboards: what models are shown of them, and lots drawn that mean something there."""

import base64
import io
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from benchmarks.bench.agents import find_agent
from benchmarks.bench.baselines import RandomAgent
from benchmarks.bench.chat_agent import ChatAgent, openai_vision_agent
from benchmarks.bench.desktop import INSTRUCTIONS, is_desktop
from benchmarks.bench.runner import run_suite
from benchmarks.bench.schema import read_run
from benchmarks.bench.suites import Cell, Suite
from rla_envs.osworld.actions import make_action_space, pyautogui_text
from rla_envs.osworld.observation import make_observation_space
from rla_envs.spaces import Unicode
from tests.benchmarks.bench.test_agents import Says, Server, server, told
from tests.rla_envs.osworld.conftest import local_desktops
from tests.rla_envs.osworld.test_elements import XML

__all__ = ["local_desktops", "server"]

SIZE = (64, 48)
SEEN = make_observation_space(("screenshot", "accessibility_tree"), SIZE)
ACTIONS = make_action_space("pyautogui", SIZE)


def screen(shade, tree=XML):
    picture = np.full((SIZE[1], SIZE[0], 3), shade, np.uint8)
    return {"instruction": "Open the menu.", "screenshot": picture, "accessibility_tree": tree}


def begun(agent, **values):
    agent.reset(told(ACTIONS, observation_space=SEEN, **values))
    return agent


def info(error=""):
    return {"rla": {"last_action_error": error}}


def test_only_what_has_a_screen_and_takes_pyautogui_is_a_desktop():
    assert is_desktop(SEEN, ACTIONS)
    assert is_desktop(make_observation_space(("screenshot",), SIZE), ACTIONS)
    assert not is_desktop(make_observation_space((), SIZE), ACTIONS)
    assert not is_desktop(SEEN, make_action_space("computer_13", SIZE))
    assert not is_desktop(Unicode(10), ACTIONS)
    assert not is_desktop(None, ACTIONS)


def test_a_model_reads_the_task_the_elements_and_what_was_wrong_and_only_the_newest_screen():
    agent = begun(ChatAgent(Says("Thought: there.\nAction: pyautogui.click(30, 30)")))
    assert agent.act(screen(0), info()) == "pyautogui.click(30, 30)"
    first = agent._client.messages
    assert first[0] == {"role": "system", "content": INSTRUCTIONS}
    assert first[1]["content"].startswith('Open the menu.\n\n(30, 30) menu "File"\n')
    agent.act(screen(0), info("it is off the screen"))
    second = agent._client.messages
    assert second[1]["content"] == "(an earlier screen)"
    assert second[2]["content"].endswith("Action: pyautogui.click(30, 30)")
    assert "\n\nYour last action: it is off the screen\n\n(30, 30) menu" in second[3]["content"]


@pytest.mark.parametrize(
    "answer", ["```python\npyautogui.press('a')\n```", "I press a.\n```\npyautogui.press('a')\n```\nSo."]
)
def test_a_program_in_fences_is_left_to_the_desktop_to_read(answer):
    action = begun(ChatAgent(Says(answer))).act(screen(0), info())
    plain = pyautogui_text.parse("pyautogui.press('a')", SIZE)
    assert pyautogui_text.parse(action, SIZE) == plain


def test_a_served_model_that_sees_gets_the_newest_screenshot_as_a_data_uri(server):
    agent = begun(openai_vision_agent(f"m@{server}"))
    agent.act(screen(10), info())
    agent.act(screen(200), info())
    agent.close()
    sent = [message["content"] for message in Server.seen[-1][1]["messages"] if message["role"] == "user"]
    assert sent[0] == "(an earlier screen)"
    text, image = sent[1]
    assert (text["type"], image["type"]) == ("text", "image_url")
    assert text["text"].startswith("Open the menu.")
    head, _, data = image["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))
    assert np.array_equal(shown, screen(200)["screenshot"])


def test_random_actions_are_understood_follow_from_the_seed_and_hit_elements():
    def walk(seed):
        agent = begun(RandomAgent(), seed=seed)
        return [agent.act(screen(0), info()) for _ in range(400)]

    actions = walk(5)
    assert actions == walk(5) != walk(6)
    for action in actions:
        pyautogui_text.parse(action, SIZE)
    kinds = Counter(action.split("(")[0] for action in actions)
    assert {"DONE", "FAIL"} < set(kinds)
    assert kinds["pyautogui.click"] > 150
    assert kinds["DONE"] + kinds["FAIL"] < 25
    assert sum(action == "pyautogui.click(30, 30)" for action in actions) > 50
    agent = begun(RandomAgent())
    for _ in range(50):
        bare = {"instruction": "", "screenshot": screen(0)["screenshot"]}
        pyautogui_text.parse(agent.act(bare, info()), SIZE)


def test_a_desktop_that_is_killed_is_tried_again_and_not_scored(tmp_path, local_desktops):
    cell = Cell("boxes", "RLA/OSWorld-v0", 1, {"family": "files_rename"}, {"infeasible": 0.5})
    suite = Suite(name="one", cells=(cell,))
    agent = find_agent("tests.benchmarks.bench.misbehaving:KillsTheScreen")
    summary = run_suite(suite, agent, tmp_path / "run", quiet=True)
    assert (summary.success.wins, summary.success.n, summary.success.infrastructure_errors) == (1, 1, 0)
    (trace,) = read_run(tmp_path / "run").traces
    assert (trace.stop, trace.retries, [step.action for step in trace.steps]) == ("solved", 1, ["FAIL"])
    assert trace.steps[0].observation.startswith("In the folder /home/user/")
    assert len(trace.steps[0].observation) < 10_000
    assert (tmp_path / "run" / trace.steps[0].screenshot).read_bytes().startswith(b"\x89PNG")
