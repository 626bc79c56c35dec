"""Event logs: lines of time, user and action are filtered and reported on."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from rla_envs.coding.families.base import Family, integers
from rla_envs.coding.families.formats import LINES
from rla_envs.coding.families.operation import Operation, Plan, one_of, whole

USERS = ("ana", "bo", "cy", "dee", "eli", "fay")
ACTIONS = ("open", "save", "send", "view")


def _parse(lines: list[str]) -> list[tuple[int, str, str]]:
    return [(int(time), user, action) for time, user, action in map(str.split, lines)]


def _drop_action(log: list[tuple[int, str, str]], action: str) -> list[tuple[int, str, str]]:
    return [event for event in log if event[2] != action]


def _drop_action_brute(log: list[tuple[int, str, str]], action: str) -> list[tuple[int, str, str]]:
    kept = list(log)
    for event in log:
        if event[2] == action:
            kept.remove(event)
    return kept


def _keep_action(log: list[tuple[int, str, str]], action: str) -> list[tuple[int, str, str]]:
    return [event for event in log if event[2] == action]


def _drop_repeats(log: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    last: dict[str, str] = {}
    kept = []
    for time, user, action in log:
        if last.get(user) != action:
            kept.append((time, user, action))
        last[user] = action
    return kept


def _drop_repeats_brute(log: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    kept = []
    for i, event in enumerate(log):
        earlier = [other[2] for other in log[:i] if other[1] == event[1]]
        if earlier[-1:] != [event[2]]:
            kept.append(event)
    return kept


def _drop_neighbour_repeats(log: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    return [event for i, event in enumerate(log) if i == 0 or log[i - 1][1:] != event[1:]]


def _drop_all_repeats(log: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    seen = set()
    kept = []
    for event in log:
        if event[1:] not in seen:
            kept.append(event)
        seen.add(event[1:])
    return kept


def _keep_active(log: list[tuple[int, str, str]], count: int) -> list[tuple[int, str, str]]:
    events = Counter(user for _, user, _ in log)
    return [event for event in log if events[event[1]] >= count]


def _keep_active_brute(log: list[tuple[int, str, str]], count: int) -> list[tuple[int, str, str]]:
    users = [event[1] for event in log]
    return [event for event in log if not users.count(event[1]) < count]


def _keep_more_active(log: list[tuple[int, str, str]], count: int) -> list[tuple[int, str, str]]:
    events = Counter(user for _, user, _ in log)
    return [event for event in log if events[event[1]] > count]


def _rename(log: list[tuple[int, str, str]], old: str, new: str) -> list[tuple[int, str, str]]:
    return [(time, new if user == old else user, action) for time, user, action in log]


def _rename_brute(log: list[tuple[int, str, str]], old: str, new: str) -> list[tuple[int, str, str]]:
    names = {old: new}
    return [(event[0], names.get(event[1], event[1]), event[2]) for event in log]


def _remove_user(log: list[tuple[int, str, str]], old: str, new: str) -> list[tuple[int, str, str]]:
    return [event for event in log if event[1] != old]


def _drop_quick(log: list[tuple[int, str, str]], seconds: int) -> list[tuple[int, str, str]]:
    kept: list[tuple[int, str, str]] = []
    for event in log:
        if not kept or event[0] - kept[-1][0] >= seconds:
            kept.append(event)
    return kept


def _drop_quick_brute(log: list[tuple[int, str, str]], seconds: int) -> list[tuple[int, str, str]]:
    rest = list(log)
    kept = []
    while rest:
        kept.append(rest[0])
        rest = [event for event in rest[1:] if event[0] >= rest[0][0] + seconds]
    return kept


def _drop_close(log: list[tuple[int, str, str]], seconds: int) -> list[tuple[int, str, str]]:
    return [event for i, event in enumerate(log) if i == 0 or event[0] - log[i - 1][0] >= seconds]


def _event_count(log: list[tuple[int, str, str]]) -> int:
    return len(log)


def _event_count_brute(log: list[tuple[int, str, str]]) -> int:
    return sum(1 for _ in log)


def _user_count(log: list[tuple[int, str, str]]) -> int:
    return len({user for _, user, _ in log})


def _user_count_brute(log: list[tuple[int, str, str]]) -> int:
    return sum(all(log[j][1] != log[i][1] for j in range(i)) for i in range(len(log)))


def _action_count(log: list[tuple[int, str, str]]) -> int:
    return len({action for _, _, action in log})


def _busiest(log: list[tuple[int, str, str]]) -> str:
    events = Counter(user for _, user, _ in log)
    return min(events, key=lambda user: (-events[user], user), default="nobody")


def _busiest_brute(log: list[tuple[int, str, str]]) -> str:
    users = sorted(event[1] for event in log)
    return max(users, key=users.count) if users else "nobody"


def _busiest_first_seen(log: list[tuple[int, str, str]]) -> str:
    events = Counter(user for _, user, _ in log)
    return max(events, key=lambda user: events[user], default="nobody")


def _busiest_window(log: list[tuple[int, str, str]], seconds: int) -> int:
    best = start = 0
    for end in range(len(log)):
        while log[end][0] - log[start][0] >= seconds:
            start += 1
        best = max(best, end - start + 1)
    return best


def _busiest_window_brute(log: list[tuple[int, str, str]], seconds: int) -> int:
    return max((sum(0 <= time - begin < seconds for time, _, _ in log) for begin, _, _ in log), default=0)


def _busiest_window_longer(log: list[tuple[int, str, str]], seconds: int) -> int:
    return _busiest_window(log, seconds + 1)


def _handovers(log: list[tuple[int, str, str]]) -> int:
    seen: Counter[str] = Counter()
    pairs = 0
    for position, (_, _, action) in enumerate(log):
        pairs += position - seen[action]
        seen[action] += 1
    return pairs


def _handovers_brute(log: list[tuple[int, str, str]]) -> int:
    return sum(log[i][2] != log[j][2] for i in range(len(log)) for j in range(i))


def _handovers_next(log: list[tuple[int, str, str]]) -> int:
    return sum(log[i][2] != log[i - 1][2] for i in range(1, len(log)))


def _waiting(log: list[tuple[int, str, str]]) -> int:
    count: Counter[str] = Counter()
    times: Counter[str] = Counter()
    total = 0
    for time, user, _ in log:
        total += count[user] * time - times[user]
        count[user] += 1
        times[user] += time
    return total


def _waiting_brute(log: list[tuple[int, str, str]]) -> int:
    total = 0
    for i, (time, user, _) in enumerate(log):
        for j in range(i):
            if log[j][1] == user:
                total += time - log[j][0]
    return total


def _waiting_next(log: list[tuple[int, str, str]]) -> int:
    last: dict[str, int] = {}
    total = 0
    for time, user, _ in log:
        total += time - last.get(user, time)
        last[user] = time
    return total


class Events(Family):
    """Filtering a log by action, user and time, then counting, ranking or measuring what is left."""

    name = "events"
    title = "Event log"
    intro = (
        "You are given a log of n events in the order in which they happened. Each is a string of three "
        "words separated by spaces: the time in seconds, the user, and the action, such as 17 ana save."
    )
    limits = (
        "Times are integers from 0 to 1000000 and never fall from one event to the next. Users and actions "
        "are words of lowercase letters."
    )
    form = LINES
    operations = (
        Operation(
            "Drop every event whose action is {0}.",
            _drop_action,
            _drop_action_brute,
            (_keep_action,),
            draw=one_of(*ACTIONS),
        ),
        Operation(
            "Drop every event that has the same action as the event of the same user just before it "
            "(other users may come between), judged on the log before anything is dropped in this step.",
            _drop_repeats,
            _drop_repeats_brute,
            (_drop_neighbour_repeats, _drop_all_repeats),
        ),
        Operation(
            "Keep only the events of users that have at least {0} events.",
            _keep_active,
            _keep_active_brute,
            (_keep_more_active,),
            draw=whole(2, 3),
        ),
        Operation(
            "Events of {0} count as events of {1} from now on.",
            _rename,
            _rename_brute,
            (_remove_user,),
            draw=lambda rng: [("ana", "bo"), ("bo", "cy"), ("cy", "ana")][int(rng.integers(3))],
        ),
        Operation(
            "Go through the log from its start and keep the first event; then keep an event only if it "
            "happened at least {0} seconds after the last one kept.",
            _drop_quick,
            _drop_quick_brute,
            (_drop_close,),
            draw=whole(2, 3),
        ),
        Operation(
            "The answer is the number of events.",
            _event_count,
            _event_count_brute,
            (_user_count,),
            final=True,
            easy=True,
        ),
        Operation(
            "The answer is the number of different users.",
            _user_count,
            _user_count_brute,
            (_action_count, _event_count),
            final=True,
            easy=True,
        ),
        Operation(
            "The answer is the user with the most events, the first in alphabetical order if there are "
            "several, or the word nobody if there are no events.",
            _busiest,
            _busiest_brute,
            (_busiest_first_seen,),
            final=True,
            answer="text",
        ),
        Operation(
            "The answer is the largest number of events within {0} seconds: from some second on, that one "
            "and the following ones, {0} in all (0 if there are no events).",
            _busiest_window,
            _busiest_window_brute,
            (_busiest_window_longer,),
            draw=whole(3, 6),
            final=True,
            heavy=True,
        ),
        Operation(
            "The answer is the number of pairs of events, an earlier one and a later one, with different "
            "actions.",
            _handovers,
            _handovers_brute,
            (_handovers_next,),
            final=True,
            heavy=True,
        ),
        Operation(
            "The answer is the sum of the seconds between the two events of every pair of events of the "
            "same user.",
            _waiting,
            _waiting_brute,
            (_waiting_next,),
            final=True,
            heavy=True,
        ),
    )

    def draw_input(self, rng: np.random.Generator, n: int, plan: Plan) -> list[Any]:
        """Return one log of ``n`` events, 0 to 3 seconds apart."""
        users = USERS[: int(rng.integers(2, 5))] if n <= 40 else USERS
        times = np.cumsum(rng.integers(0, 4, n)).tolist()
        who = integers(rng, 0, len(users) - 1, n)
        what = integers(rng, 0, len(ACTIONS) - 1, n)
        return [[f"{t} {users[u]} {ACTIONS[a]}" for t, u, a in zip(times, who, what, strict=True)]]

    def special_inputs(self, plan: Plan) -> list[list[Any]]:
        """Return events at one time, of one user, ties between users, and far apart times."""
        return [
            [["5 bo save", "5 ana save", "5 cy view", "5 bo open"]],
            [["0 cy view", "1 cy view", "2 cy open", "4 cy view", "4 cy send"]],
            [["0 dee open", "0 bo open", "3 bo send", "6 dee save"]],
            [["0 ana send", "999999 bo view", "1000000 ana view"]],
        ]

    def prepare(self, *arguments: Any) -> Any:
        """Return the events with their words apart."""
        return _parse(*arguments)

    def solve_source(self, plan: Plan, brute: bool = False) -> str:
        """Return the source of ``solve``, which parses the lines first."""
        calls = [f"    log = {step.call('log')}\n" for step in plan[:-1]]
        return (
            f"def solve(lines):\n    log = _parse(lines)\n{''.join(calls)}    return {plan[-1].call('log')}\n"
        )

    def helpers(self, plan: Plan, brute: bool = False) -> list[Any]:
        """Return the parser of the lines."""
        return [_parse]
