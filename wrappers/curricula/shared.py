"""One curriculum for environments in several processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.managers import BaseManager, BaseProxy
from typing import Any, cast

import numpy as np

from rla_envs.errors import InfrastructureError, InputError
from wrappers.protocols import Curriculum, Proposal, TaskSource


class _Served:
    """The curriculum in the process that holds it; the manager calls it from one thread per worker."""

    def __init__(self, curriculum: Curriculum, names: tuple[str, ...]) -> None:
        self._curriculum = curriculum
        self._names = names
        self._lock = threading.Lock()

    def name(self) -> str:
        return str(getattr(self._curriculum, "name", type(self._curriculum).__name__))

    def check_names(self, names: tuple[str, ...]) -> None:
        if names != self._names:
            raise InputError(
                f"the shared curriculum was bound to the parameters {', '.join(self._names)}, "
                f"but this environment has {', '.join(names)}; give each kind its own"
            )

    def propose(self, seed: int) -> Proposal:
        with self._lock:
            return self._curriculum.propose(np.random.default_rng(seed))

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return getattr(self._curriculum, method)(*args, **kwargs)


class CurriculumProxy(BaseProxy):
    """Stands for a curriculum in another process; made by :func:`shared_curriculum`, and picklable.

    Raises:
        InfrastructureError: From every method, once that process is gone.
    """

    _exposed_ = ("name", "check_names", "propose", "call")

    @property
    def name(self) -> str:
        """The curriculum's own name."""
        return str(self._request("name"))

    def bind(self, source: TaskSource) -> None:
        """Check that the environment has the parameters the curriculum was bound to."""
        self._request("check_names", tuple(parameter.name for parameter in source.difficulty_parameters))

    def propose(self, rng: np.random.Generator) -> Proposal:
        """Return what to play next; one draw from ``rng`` seeds the curriculum's choice."""
        # A generator would arrive there as a copy and never advance here.
        return cast(Proposal, self._request("propose", int(rng.integers(2**63))))

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
        """Return what happened to task edits since anybody's last call."""
        return cast(list[dict[str, Any]], self._request("call", "events"))

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
def shared_curriculum(curriculum: Curriculum, source: TaskSource) -> Iterator[CurriculumProxy]:
    """Serve a curriculum to environments in other processes while the block runs.

    The curriculum moves into a process of its own; the yielded proxy can be
    given to :class:`wrappers.CriticFeedback` in any worker. Environments in one
    process need none of this: give them the same object.

    The order in which workers' results arrive depends on their speed. Runs
    that share a curriculum across processes are therefore not reproducible
    from a seed; members of a ``SyncVectorEnv`` are.

    Args:
        curriculum: What to share. The object passed in does not learn; read
            the proxy's ``state_dict()`` before the block ends.
        source: An environment like those that will share it
            (``env.unwrapped``). It is pickled, so hand over a fresh one.

    Yields:
        A picklable stand-in with all methods of a curriculum.

    Example:
        ::

            source = gym.make("RLA/AlfWorld-v0").unwrapped
            with shared_curriculum(make_curriculum("thompson"), source) as shared:
                make_one = lambda: CriticFeedback(gym.make("RLA/AlfWorld-v0"), curriculum=shared)
                envs = gym.vector.AsyncVectorEnv([make_one] * 4, shared_memory=False)
    """
    curriculum.bind(source)
    names = tuple(parameter.name for parameter in source.difficulty_parameters)
    with _Manager() as manager:
        yield cast(Any, manager).serve(curriculum, names)
