"""One curriculum for environments in several processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.managers import BaseManager, BaseProxy
from typing import Any, cast

import numpy as np
from gymnasium import spaces

from rla_envs.errors import InfrastructureError
from wrappers.curricula.registry import drain_events, next_proposal
from wrappers.protocols import Curriculum, Proposal


class _Served:
    """The curriculum in the process that holds it; the manager calls it from one thread per worker."""

    def __init__(self, curriculum: Curriculum) -> None:
        self._curriculum = curriculum
        self._lock = threading.Lock()

    def attribute(self, name: str) -> Any:
        return getattr(self._curriculum, name, None)

    def next_proposal(self, seed: int) -> Proposal:
        with self._lock:
            return next_proposal(self._curriculum, np.random.default_rng(seed))

    def propose(self, seed: int) -> dict[str, Any]:
        with self._lock:
            return self._curriculum.propose(np.random.default_rng(seed))

    def events(self) -> list[dict[str, Any]]:
        with self._lock:
            return drain_events(self._curriculum)

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return getattr(self._curriculum, method)(*args, **kwargs)


class CurriculumProxy(BaseProxy):
    """Stands for a curriculum in another process; made by :func:`shared_curriculum`, and picklable.

    Raises:
        InfrastructureError: From every method, once that process is gone.
    """

    _exposed_ = ("attribute", "next_proposal", "propose", "events", "call")

    @property
    def name(self) -> str:
        """The curriculum's own name."""
        return str(self._request("attribute", "name"))

    @property
    def difficulty_space(self) -> spaces.Dict | None:
        """The curriculum's difficulty space; None if it does not say."""
        return cast("spaces.Dict | None", self._request("attribute", "difficulty_space"))

    def next_proposal(self, rng: np.random.Generator) -> Proposal:
        """Return what to play next and why; one draw from ``rng`` seeds the curriculum's choice."""
        # A generator would arrive there as a copy and never advance here.
        return cast(Proposal, self._request("next_proposal", int(rng.integers(2**63))))

    def propose(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return the difficulty to play next; one draw from ``rng`` seeds the curriculum's choice."""
        return cast(dict[str, Any], self._request("propose", int(rng.integers(2**63))))

    def observe(self, difficulty: Mapping[str, Any], success: bool | float, **feedback: Any) -> None:
        """Take in the result of one episode."""
        self._request("call", "observe", difficulty, success, **feedback)

    def state_dict(self) -> dict[str, Any]:
        """Return everything learned, as JSON values."""
        return cast(dict[str, Any], self._request("call", "state_dict"))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from :meth:`state_dict`."""
        self._request("call", "load_state_dict", state)

    def explain(self) -> str:
        """Return what the curriculum is doing and why."""
        return str(self._request("call", "explain"))

    def events(self) -> list[dict[str, Any]]:
        """Return what happened since anybody's last call."""
        return cast(list[dict[str, Any]], self._request("events"))

    def _request(self, method: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return cast(Any, self)._callmethod(method, args, kwargs)
        except (EOFError, OSError) as error:
            raise InfrastructureError(
                f"the process of the shared curriculum is gone ({type(error).__name__}); "
                "use the environments inside the shared_curriculum block"
            ) from error


class _Manager(BaseManager):
    pass


_Manager.register("serve", _Served, CurriculumProxy)


@contextmanager
def shared_curriculum(curriculum: Curriculum) -> Iterator[CurriculumProxy]:
    """Serve a curriculum to environments in other processes while the block runs.

    The curriculum moves into a process of its own; the yielded proxy can be
    given to :class:`wrappers.CriticFeedback` in any worker. Environments in one
    process need none of this: give them the same object.

    The order in which workers' results arrive depends on their speed. Runs
    that share a curriculum across processes are therefore not reproducible
    from a seed; members of a ``SyncVectorEnv`` are.

    Args:
        curriculum: What to share, with its ``tasks`` if it rewrites some: it is
            pickled. The object passed in does not learn; read the proxy's
            ``state_dict()`` before the block ends.

    Yields:
        A picklable stand-in with all methods of a curriculum.

    Example:
        ::

            space = gym.make("RLA/AlfWorld-v0").unwrapped.difficulty_space
            with shared_curriculum(curricula.make("thompson", space)) as shared:
                make_one = lambda: CriticFeedback(gym.make("RLA/AlfWorld-v0"), curriculum=shared)
                envs = gym.vector.AsyncVectorEnv([make_one] * 4, shared_memory=False)
    """
    with _Manager() as manager:
        yield cast(Any, manager).serve(curriculum)
