"""Episodes side by side: the same answers whatever the number of workers, also after one dies."""

import multiprocessing
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rla_agents.env_pool import EnvPool
from rla_agents.environments import make_env
from rla_envs.errors import InfrastructureError, InputError, InvalidTaskError
from tests.rla_agents.doors import FragileDoorsEnv

DOORS = "tests.rla_agents.doors:RLATest/Doors-v0"
ROOT = Path(__file__).parents[2]


def play(env_id, kwargs, workers, difficulty):
    """Return all that a pool answers while five episodes of three tasks are played."""
    with EnvPool(env_id, kwargs, workers) as pool:
        tasks = pool.sample([(difficulty, (7, i)) for i in range(3)])
        rows = [tasks[0], tasks[0], tasks[1], tasks[1], tasks[2]]
        answers = [tasks, pool.reset(rows, seed=5)]
        live = dict(enumerate(answers[1]))
        for turn in range(4):
            actions = {slot: seen.commands[(turn + slot) % len(seen.commands)] for slot, seen in live.items()}
            actions[min(live)] = "no such command"
            answers.append(pool.step(actions))
            live = {
                slot: seen
                for slot, seen in zip(actions, answers[-1], strict=True)
                if not (seen.terminated or seen.truncated)
            }
            if not live:
                break
        answers.append(pool.restart(3, tasks[1], seed=5))
    return answers


@pytest.fixture
def workers_of():
    """Make a pool with two workers, and give the processes' ids with it."""
    pools = []

    def make(env_id=DOORS, kwargs=()):
        before = set(multiprocessing.active_children())
        pools.append(EnvPool(env_id, dict(kwargs), workers=2))
        started = [p for p in multiprocessing.active_children() if p not in before]
        return pools[-1], sorted(process.pid for process in started)

    yield make
    for pool in pools:
        pool.close()


def test_two_workers_answer_exactly_as_none():
    assert play(DOORS, {}, 2, {"doors": 2}) == play(DOORS, {}, 0, {"doors": 2})


def test_two_workers_answer_exactly_as_none_on_alfworld():
    pytest.importorskip("alfworld", reason="needs the 'alfworld' extra")
    kwargs = {"split": "valid_unseen", "difficulty": {"step_budget": 1.0, "objects": 6}}
    apart, here = (play("RLA/AlfWorld-v0", kwargs, workers, {"receptacles": 5}) for workers in (2, 0))
    assert apart == here


def test_it_says_what_the_environment_says():
    env = make_env(DOORS, {"difficulty": {"doors": 2}})
    with EnvPool(DOORS, {"difficulty": {"doors": 2}}) as pool:
        (task,) = pool.sample([(None, (3, 1))])
        assert task == env.unwrapped.sample_task(None, np.random.default_rng((3, 1)))
        env.reset(seed=0, options={"task": task})
        plan = env.unwrapped.optimal_plan()
        (seen,) = pool.reset([task], seed=0)
        assert (seen.remaining, seen.terminated, seen.success) == (2, False, False)
        for number, action in enumerate(["look", *plan], start=1):
            observation, reward, terminated, truncated, info = env.step(action)
            (seen,) = pool.step({0: action})
            assert seen.observation == observation
            assert seen.commands == tuple(info["admissible_commands"])
            assert (seen.reward, seen.terminated, seen.truncated) == (reward, terminated, truncated)
            assert (seen.error, seen.success) == (info["rla"]["last_action_error"], reward == 1.0)
            assert seen.remaining == (2 if number == 1 else 3 - number)
        assert (seen.reward, seen.terminated, seen.success, seen.remaining) == (1.0, True, True, 0)


def test_a_killed_worker_fails_its_own_slots_and_works_again(workers_of):
    pool, _ = workers_of()
    tasks = pool.sample([({"doors": 3}, (0, i)) for i in range(4)])
    start = pool.reset(tasks, seed=0)
    first, second = (worker.process.pid for worker in pool._workers)
    os.kill(first, signal.SIGKILL)
    answers = pool.step(dict.fromkeys(range(4), "look"))
    assert [bool(seen.failure) for seen in answers] == [True, True, False, False]
    assert pool._workers[1].process.pid == second
    assert [pool.restart(slot, tasks[slot], seed=0) for slot in (0, 1)] == start[:2]
    assert not any(seen.failure for seen in pool.step(dict.fromkeys(range(4), "look")))


def test_an_episode_that_died_with_its_worker_stays_failed_until_it_is_restarted(workers_of):
    pool, pids = workers_of()
    tasks = pool.sample([({"doors": 3}, (0, i)) for i in range(4)])
    start = pool.reset(tasks, seed=0)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert pool.restart(0, tasks[0], seed=0).failure  # this call meets the dead worker ...
    assert pool.restart(0, tasks[0], seed=0) == start[0]  # ... and this one its successor
    after = pool.step({0: "look", 1: "look"})
    assert not after[0].failure
    assert "died" in after[1].failure
    assert pool.restart(1, tasks[1], seed=0) == start[1]


def test_a_worker_killed_while_tasks_are_made_costs_no_task(workers_of):
    pool, pids = workers_of()
    wanted = [({"doors": 2}, (1, i)) for i in range(6)]
    before = pool.sample(wanted)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert pool.sample(wanted) == before


def test_sampling_gives_up_after_a_bounded_number_of_failures(monkeypatch):
    calls = []

    def lost(self, task):
        calls.append(task)
        raise InfrastructureError("the planner is gone")

    monkeypatch.setattr(FragileDoorsEnv, "check_task", lost)
    with (
        EnvPool("RLATest/FragileDoors-v0", {}) as pool,
        pytest.raises(InfrastructureError, match="no task could be made: the planner is gone"),
    ):
        pool.sample([(None, (0,))])
    assert len(calls) == 3


@pytest.mark.parametrize("workers", [0, 2])
def test_a_difficulty_without_a_valid_task_is_answered_not_raised(workers):
    with EnvPool(DOORS, {"step_budget": 2}, workers) as pool:
        made = pool.sample([({"doors": 2}, (0, 0)), ({"doors": 5}, (0, 1)), ({"doors": 1}, (0, 2))])
    assert [isinstance(task, InvalidTaskError) for task in made] == [False, True, False]
    assert "5 doors need more than 2 steps" in str(made[1])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"sprint": 3}, "unexpected keyword argument 'sprint'"),
        ({"split": "trian"}, "Did you mean 'train'?"),
        ({"difficulty": {"dors": 2}}, "Did you mean 'doors'?"),
    ],
)
def test_settings_that_the_environment_refuses_are_an_input_error_of_one_line(workers, kwargs, message):
    with EnvPool(DOORS, kwargs, workers) as pool, pytest.raises(InputError, match=message) as caught:
        pool.sample([(None, (0,))])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_task_of_another_environment_is_refused(workers):
    with EnvPool(DOORS, {"step_budget": 2}, workers) as pool:
        (task,) = pool.sample([({"doors": 2}, (0, 0))])
    with EnvPool(DOORS, {}, workers) as pool, pytest.raises(InvalidTaskError, match="names a door"):
        pool.reset([task.child({**task.payload, "order": ["beige"]}, task.difficulty)], seed=0)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_fault_in_the_environments_code_is_raised_as_what_it_is(workers):
    with EnvPool("tests.rla_agents.doors:RLATest/BuggyDoors-v0", {}, workers) as pool:
        tasks = pool.sample([(None, (0, i)) for i in range(2)])
        pool.reset(tasks, seed=0)
        with pytest.raises(KeyError, match="no such key") as caught:
            pool.step({0: "look", 1: "look"})
        if workers:
            assert "_act" in caught.value.__notes__[0]
        assert not any(seen.failure for seen in pool.reset(tasks, seed=0))


def test_closing_ends_every_worker():
    before = set(multiprocessing.active_children())
    with EnvPool(DOORS, {}, workers=2) as pool:
        pool.sample([(None, (0,))])
        assert len(set(multiprocessing.active_children()) - before) == 2
    assert set(multiprocessing.active_children()) == before


PARENT = """
import multiprocessing, os, signal, sys
from rla_agents.env_pool import EnvPool

if __name__ == "__main__":
    with EnvPool("tests.rla_agents.doors:RLATest/Doors-v0", {}, workers=2) as pool:
        pool.sample([(None, (0, i)) for i in range(2)])
        print(*(p.pid for p in multiprocessing.active_children()), flush=True)
        sys.stdin.readline()
        pool.sample([(None, (0, i)) for i in range(2)])
        print("still working", flush=True)
        sys.stdin.readline()
"""


@pytest.fixture
def parent(tmp_path):
    """Start a process with a pool of two workers; give it and the workers' ids."""
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,
    ) as process:
        yield process, [int(pid) for pid in process.stdout.readline().split()]
        process.kill()


def ended(pid):
    """Wait until a process that is no child of this one has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 60)[0])
    finally:
        os.close(descriptor)


def test_workers_end_when_their_parent_is_killed(parent):
    process, workers = parent
    assert len(workers) == 2
    process.kill()
    assert all(ended(pid) for pid in workers)


def test_an_interrupt_of_the_group_leaves_ending_the_workers_to_the_parent(parent):
    process, workers = parent
    for pid in workers:
        os.kill(pid, signal.SIGINT)
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "still working\n"
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGINT
    assert errors.count("Traceback") == 1  # the parent's own KeyboardInterrupt
    assert all(ended(pid) for pid in workers)


def test_workers_load_no_language_models():
    code = "import sys, rla_agents.env_pool; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
