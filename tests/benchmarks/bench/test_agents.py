import importlib.metadata
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
from gymnasium import spaces

from benchmarks.bench.agents import ActionError, AgentServer, AgentSpec, agent_names, find_agent, make_agent
from benchmarks.bench.baselines import FirstAdmissible, Oracle, RandomAgent
from benchmarks.bench.chat_agent import ChatAgent, Completion, openai_agent
from benchmarks.bench.episode import agent_seed
from benchmarks.bench.stage import Stage
from benchmarks.bench.suites import Cell, Suite
from rla_envs.errors import InfrastructureError, InputError
from rla_envs.spaces import Unicode

HERE = "tests.benchmarks.bench.misbehaving"


def told(action_space, **values):
    """What an agent is told at a reset."""
    return {"action_space": action_space, "seed": 5, "whole_answers": False, "witness": (), **values}


def play(agent, env_id, cell, count, **env):
    """Play tasks in this process and return how many were won, and the first one's actions."""
    stage = Stage(Suite(name="s", cells=(Cell("c", env_id, count, env, cell),)))
    wins, actions = 0, []
    for number in range(count):
        opening = stage.begin(0, number, 0)
        spaces_of = {"observation_space": opening.observation_space, "action_space": opening.action_space}
        agent.reset(told(**spaces_of, witness=opening.witness, whole_answers=opening.whole_answers))
        seen = opening.seen
        while not (seen.terminated or seen.truncated):
            action = agent.act(seen.observation, seen.info)
            actions.append((number, action))
            seen = stage.step(opening.action_space.to_jsonable([action]))
        wins += seen.success
    stage.close()
    return wins, [action for number, action in actions if number == 0]


@pytest.mark.parametrize(
    ("spec", "place", "kind"),
    [
        ("random", "benchmarks.bench.baselines:RandomAgent", "baseline"),
        ("oracle", "benchmarks.bench.baselines:Oracle", "privileged"),
        ("package.module:Class", "package.module:Class", "third-party"),
        ("policy:tiny", "benchmarks.bench.trained:trained_agent", "model"),
        ("openai:org/m:7b@https://host/v1", "benchmarks.bench.chat_agent:openai_agent", "model"),
        ("openai-vision:m@http://host/v1", "benchmarks.bench.chat_agent:openai_vision_agent", "model"),
    ],
)
def test_agents_are_named_in_every_documented_form(spec, place, kind):
    found = find_agent(spec)
    assert (found.name, found.place, found.kind) == (spec, place, kind)


def test_a_key_in_a_url_is_used_and_not_written():
    found = find_agent("openai:m@http://user:secret@host/v1")
    assert "secret" not in found.name
    assert "secret" in found.argument


def test_the_entry_points_of_installed_packages_are_agents(monkeypatch):
    point = importlib.metadata.EntryPoint("theirs", f"{HERE}:Looker", "rla.agents")
    monkeypatch.setattr(
        importlib.metadata, "entry_points", lambda group: [point] if group == "rla.agents" else []
    )
    assert "theirs" in agent_names()
    assert find_agent("theirs") == AgentSpec("theirs", f"{HERE}:Looker", "third-party")


@pytest.mark.parametrize("name", ["Looker", "made", "INSTANCE"])
def test_a_class_a_function_or_an_object_makes_an_agent(name):
    assert make_agent(find_agent(f"{HERE}:{name}")).act("", {}) == "look"


@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        (f"{HERE}:NOTHING", r"expected an object with act\(observation, info\), got 3 of type int"),
        (f"{HERE}:Missing", "AttributeError: module .* has no attribute 'Missing'"),
        ("no.such.module:Agent", "ModuleNotFoundError: No module named 'no'"),
    ],
)
def test_what_is_no_agent_is_refused(place, complaint):
    with pytest.raises(InputError, match=complaint):
        make_agent(find_agent(place))


def test_a_policy_with_predict_keeps_its_state_within_an_episode():
    server = AgentServer(find_agent(f"{HERE}:Predictor"))
    for _ in range(2):
        server.reset(told(spaces.Discrete(4)))
        assert [server.act(np.zeros(2), {})[0] for _ in range(5)] == [0, 1, 2, 3, 0]


def test_coroutines_and_batches_are_awaited_and_unpacked():
    server = AgentServer(find_agent(f"{HERE}:Batched"))
    server.reset(told(Unicode(40), difficulty={"word": "open"}))
    assert server.act("red", {}) == ["open red"]


def test_what_an_agent_reports_counts_only_if_it_is_of_the_right_type():
    server = AgentServer(find_agent(f"{HERE}:ByCell"))
    assert server.report() == {"claim": True, "prompt_tokens": 7}


def test_an_agent_s_seed_depends_on_run_and_episode_alone():
    seeds = [
        agent_seed(*key)
        for key in [(0, "a", 0, 0), (1, "a", 0, 0), (0, "b", 0, 0), (0, "a", 1, 0), (0, "a", 0, 1)]
    ]
    assert len(set(seeds)) == 5
    assert seeds[0] == agent_seed(0, "a", 0, 0)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_the_random_agent_repeats_itself_by_seed_and_takes_all_actions():
    taken = []
    for _ in range(2):
        agent = RandomAgent()
        agent.reset(told(spaces.Discrete(5)))
        taken.append([int(agent.act(None, {})) for _ in range(100)])
    assert taken[0] == taken[1]
    assert set(taken[0]) == set(range(5))
    assert agent.act("", {"admissible_commands": ["look"]}) == "look"


def test_the_first_admissible_agent_takes_the_first():
    agent = FirstAdmissible()
    agent.reset(told(Unicode(9)))
    assert agent.act("", {"admissible_commands": ["b", "a"]}) == "b"
    assert agent.act("", {}) == ""
    agent.reset(told(spaces.Discrete(5, start=2)))
    assert agent.act(None, {}) == 2


def test_the_oracle_wins_in_as_few_steps_as_can_be():
    assert (
        play(Oracle(), "RLA/GridNav-v0", {"wind": 0.3, "goal_moving": 0.3, "step_budget": 1.0}, 10)[0] == 10
    )
    with pytest.raises(InputError, match="no solution of this task is known"):
        Oracle().reset(told(Unicode(9)))


def test_the_handwritten_player_wins_games_of_every_kind():
    pytest.importorskip("alfworld", reason="AlfWorld's games")
    from benchmarks.bench.alfworld_heuristic import AlfWorldHeuristic
    from rla_envs.alfworld.scene import TASK_TYPES

    for kind in TASK_TYPES:
        wins, _ = play(AlfWorldHeuristic(), "RLA/AlfWorld-v0", {"task_type": kind}, 5, split="valid_unseen")
        assert wins >= 4, kind


def test_a_trained_policy_plays_as_in_its_own_evaluation():
    pytest.importorskip("alfworld", reason="AlfWorld's games")
    from benchmarks.bench.trained import trained_agent
    from rla_agents.env_pool import EnvPool
    from rla_agents.llm import Sampling
    from rla_agents.policy import Policy
    from rla_agents.rollout import rollout

    agent = trained_agent("tiny")
    difficulty = {"task_type": "pick_and_place_simple", "hiding_depth": 0}
    _, actions = play(agent, "RLA/AlfWorld-v0", difficulty, 1)
    stage = Stage(Suite(name="s", cells=(Cell("c", "RLA/AlfWorld-v0", 1, {}, difficulty),)))
    policy = Policy(agent._model, Sampling(greedy=True), instructed=False)
    with EnvPool("RLA/AlfWorld-v0", {}) as pool:
        [expected] = rollout(policy, pool, [stage._task(0, 0)], 0, None)
    assert actions == [turn.action for turn in expected.turns]
    said = agent.report()
    assert sum(said.values()) >= len(expected.sequence.ids) > said["completion_tokens"] > 0


class Server(BaseHTTPRequestHandler):
    """Answers as OpenAI-compatible servers do: with the first possible action, after a thought."""

    seen = []
    status = 200

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Server.seen.append((self.path, body))
        content = body["messages"][-1]["content"]
        message = content if isinstance(content, str) else content[0]["text"]
        answer = f"Thought: easy.\n**Action:** {message.splitlines()[-1]}"
        reply = {
            "choices": [{"message": {"content": answer}}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 4},
        }
        data = json.dumps(reply).encode()
        self.send_response(Server.status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    Server.seen, Server.status = [], 200
    listening = HTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}/v1"
    listening.shutdown()
    thread.join()
    listening.server_close()


def test_a_served_model_sees_the_commands_and_its_action_is_found(server):
    agent = openai_agent(f"some/model:7b@{server}")
    agent.reset(told(Unicode(40)))
    assert agent.act("A room.", {"admissible_commands": ["look", "open door 1"]}) == "open door 1"
    assert agent.act("It is open.", {"admissible_commands": ["go out"]}) == "go out"
    assert agent.report() == {"prompt_tokens": 18, "completion_tokens": 8}
    path, body = Server.seen[1]
    assert (path, body["model"], body["temperature"]) == ("/v1/chat/completions", "some/model:7b", 0)
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    agent.close()


@pytest.mark.parametrize(
    ("status", "error"), [(500, InfrastructureError), (404, InfrastructureError), (400, InputError)]
)
def test_a_server_that_fails_breaks_the_episode_and_a_refused_conversation_loses_it(server, status, error):
    agent = openai_agent(f"m@{server}")
    agent.reset(told(Unicode(40)))
    Server.status = status
    with pytest.raises(error):
        agent.act("A room.", {})
    agent.close()


def test_no_server_is_broken_machinery():
    agent = openai_agent("m@http://127.0.0.1:9/v1")
    agent.reset(told(Unicode(40)))
    with pytest.raises(InfrastructureError, match="127.0.0.1:9/v1/chat/completions: ConnectError"):
        agent.act("A room.", {})
    agent.close()


class Says:
    """A client that gives one answer."""

    def __init__(self, text):
        self.text = text

    def complete(self, messages):
        self.messages = [dict(message) for message in messages]
        return Completion(self.text)

    def close(self):
        pass


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ("Thought: x\nAction: go north", "go north"),
        ("action: `take mug 1`", "take mug 1"),
        ("Action: look\nObservation: ...\nAction: open it", "open it"),
        ("I shall look.\n\nlook\n", "look"),
        ("", ""),
    ],
)
def test_the_action_is_the_last_one_named_or_else_the_last_line(answer, action):
    agent = ChatAgent(Says(answer))
    agent.reset(told(Unicode(40)))
    assert agent.act("?", {}) == action


def test_numbers_are_shown_and_answered_and_programs_are_taken_whole():
    agent = ChatAgent(Says("Thought: 7 is too far.\nAction: 3"))
    agent.reset(told(spaces.Discrete(5)))
    assert agent.act(np.array([0.5, -1.0]), {}) == 3
    assert "An action is a number from 0 to 4." in agent._client.messages[-1]["content"]
    program = "First, Action: think.\n```python\nprint(1)\n```"
    agent = ChatAgent(Says(program))
    agent.reset(told(Unicode(400), whole_answers=True))
    assert agent.act("Write it.", {}) == program
    assert agent._client.messages == [{"role": "user", "content": "Write it."}]
    with pytest.raises(InputError, match="expected actions that are text or a number"):
        agent.reset(told(spaces.Box(0, 1)))


def test_an_action_that_no_trace_can_hold_is_refused():
    server = AgentServer(AgentSpec("far", f"{HERE}:Far", "third-party"))
    server.reset({"action_space": spaces.Box(-np.inf, np.inf, (2,))})
    with pytest.raises(ActionError, match="returned a ndarray that is not finite"):
        server.act(None, {})
