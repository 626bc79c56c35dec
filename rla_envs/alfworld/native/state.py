"""What holds in a game, by what its rules ask for, and answers that are kept until what they read changes.

Rules and texts read the state through *buckets*: the facts of one predicate
with given things at given positions. Equal contents of a bucket are one object,
so a kept answer (:class:`Memo`) is found by following the buckets that it read,
each to its present content. That makes kept answers correct by construction: no
rule says what to forget when, and a state seen before costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeAlias, TypeVar

from rla_envs.alfworld.native.things import Fact, Picker, Positions, Things, picker

Bucket: TypeAlias = tuple[str, Positions, tuple[str, ...]]
"""A predicate, positions among its arguments, and the things at these positions."""

T = TypeVar("T")


class Content:
    """The facts in a bucket, as tuples of their arguments, sorted."""

    __slots__ = ("_others", "facts", "pool")

    def __init__(self, facts: tuple[Fact, ...], pool: dict[tuple[Fact, ...], Content]) -> None:
        """Make a content; see :func:`content_of`."""
        self.facts = facts
        self.pool = pool
        self._others: dict[tuple[Fact, bool], Content] = {}

    def changed(self, arguments: Fact, present: bool) -> Content:
        """Return the content with a fact more or less; it must not be, or be, among these."""
        other = self._others.get((arguments, present))
        if other is None:
            facts = {*self.facts, arguments} if present else {*self.facts} - {arguments}
            other = content_of(tuple(sorted(facts)), self.pool)
            self._others[arguments, present] = other
        return other


def content_of(facts: tuple[Fact, ...], pool: dict[tuple[Fact, ...], Content]) -> Content:
    """Return the one content of a pool with these facts."""
    found = pool.get(facts)
    if found is None:
        found = pool.setdefault(facts, Content(facts, pool))
    return found


class Indexes:
    """Which buckets each predicate has.

    Args:
        others: Indexes whose buckets are wanted, too.
    """

    def __init__(self, others: Indexes | None = None) -> None:
        """Start with none, or with those of others."""
        self._wanted: dict[str, tuple[tuple[Positions, Picker], ...]] = dict(others._wanted) if others else {}
        self._keys: dict[Fact, tuple[Bucket, ...]] = {}

    def need(self, predicate: str, positions: Positions) -> None:
        """Keep buckets of a predicate by the things at these positions."""
        known = self._wanted.get(predicate, ())
        if all(positions != other for other, _ in known):
            self._wanted[predicate] = (*known, (positions, picker(positions)))

    def reads(self, predicate: str) -> bool:
        """Return whether anything ever asks for a predicate."""
        return predicate in self._wanted

    def sorted_out(self, facts: Iterable[Fact]) -> dict[Bucket, list[Fact]]:
        """Return what is in each bucket, sorted, of those that are not empty."""
        by_predicate: dict[str, list[Fact]] = {}
        for fact in sorted(facts):
            by_predicate.setdefault(fact[0], []).append(fact[1:])
        found: dict[Bucket, list[Fact]] = {}
        for name, those in by_predicate.items():
            for positions, pick in self._wanted.get(name, ()):
                for arguments in those:
                    found.setdefault((name, positions, pick(arguments)), []).append(arguments)
        return found

    def buckets(self, fact: Fact) -> tuple[Bucket, ...]:
        """Return the buckets that a fact is in."""
        keys = self._keys.get(fact)
        if keys is None:
            name, arguments = fact[0], fact[1:]
            wanted = self._wanted.get(name, ())
            keys = tuple([(name, positions, pick(arguments)) for positions, pick in wanted])
            self._keys[fact] = keys
        return keys


class State:
    """The facts that hold, by bucket; :func:`state_of` makes one. Copies share what is the same.

    Args:
        things: The objects of the game, and the facts that always hold.
        indexes: Which buckets to keep.
        facts: What holds.
        buckets: The same, by bucket.
        nothing: The content of all other buckets.
    """

    def __init__(
        self,
        things: Things,
        indexes: Indexes,
        facts: set[Fact],
        buckets: dict[Bucket, Content],
        nothing: Content,
    ) -> None:
        """Take what is given as it is."""
        self.things = things
        self._indexes = indexes
        self.facts = facts
        self.buckets = buckets
        self.nothing = nothing
        self.trace: list[tuple[Bucket, Content]] | None = None

    def copy(self) -> State:
        """Return an independent state in which the same holds."""
        return State(self.things, self._indexes, self.facts.copy(), self.buckets.copy(), self.nothing)

    def read(self, bucket: Bucket) -> Content:
        """Return what is in a bucket."""
        content = self.buckets.get(bucket, self.nothing)
        if self.trace is not None:
            self.trace.append((bucket, content))
        return content

    def set(self, fact: Fact, present: bool) -> None:
        """Make a fact hold or not hold."""
        if (fact in self.facts) is present:
            return
        if present:
            self.facts.add(fact)
        else:
            self.facts.discard(fact)
        buckets, arguments = self.buckets, fact[1:]
        for bucket in self._indexes.buckets(fact):
            buckets[bucket] = buckets.get(bucket, self.nothing).changed(arguments, present)


def state_of(
    things: Things, indexes: Indexes, facts: Iterable[Fact], pool: dict[tuple[Fact, ...], Content]
) -> State:
    """Return a state in which some facts hold, with contents from a pool."""
    held = set(facts)
    found = indexes.sorted_out(held)
    buckets = {bucket: content_of(tuple(inside), pool) for bucket, inside in found.items()}
    return State(things, indexes, held, buckets, content_of((), pool))


class _Fork(Generic[T]):
    """What a kept answer read next, and where to go on for each content of it.

    Most forks only ever see one content, which they hold without a dict.
    """

    __slots__ = ("bucket", "content", "following", "others")

    def __init__(self, bucket: Bucket, content: Content, following: _Fork[T] | _Answer[T]) -> None:
        self.bucket = bucket
        self.content = content
        self.following = following
        self.others: dict[Content, _Fork[T] | _Answer[T]] | None = None

    def after(self, content: Content) -> _Fork[T] | _Answer[T] | None:
        if content is self.content:
            return self.following
        return self.others.get(content) if self.others else None

    def add(self, content: Content, following: _Fork[T] | _Answer[T]) -> None:
        if self.others is None:
            self.others = {}
        self.others[content] = following


class _Answer(Generic[T]):
    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value


class Kept:
    """How many answers some memos keep, and how often all were dropped."""

    __slots__ = ("age", "count")

    def __init__(self) -> None:
        """Start with none."""
        self.count = 0
        self.age = 0

    def drop(self) -> None:
        """Make all these memos forget."""
        self.count = 0
        self.age += 1


class Memo(Generic[T]):
    """A function of the state, computed once for each way in which what it reads can be.

    Args:
        compute: The function; it may read the state and call other memos, and
            must depend on nothing else.
        kept: Counts the answers, and says when to forget them.
    """

    __slots__ = ("_age", "_compute", "_kept", "_root")

    def __init__(self, compute: Callable[[State], T], kept: Kept) -> None:
        """Start with no answers."""
        self._compute = compute
        self._kept = kept
        self._age = kept.age
        self._root: _Fork[T] | _Answer[T] | None = None

    def __call__(self, state: State) -> T:
        """Return the answer for a state."""
        if self._age != self._kept.age:
            self._age = self._kept.age
            self._root = None
        node = self._root
        buckets, nothing, trace = state.buckets, state.nothing, state.trace
        while node is not None:
            if isinstance(node, _Answer):
                return node.value
            bucket = node.bucket
            content = buckets.get(bucket, nothing)
            if trace is not None:
                trace.append((bucket, content))
            if content is node.content:
                node = node.following
            else:
                node = node.others.get(content) if node.others else None
        return self._computed(state)

    def _computed(self, state: State) -> T:
        outer, state.trace = state.trace, []
        try:
            value = self._compute(state)
            trace = dict(state.trace)
        finally:
            state.trace = outer
        if outer is not None:
            outer.extend(trace.items())
        self._keep(list(trace.items()), value)
        return value

    def _keep(self, trace: list[tuple[Bucket, Content]], value: T) -> None:
        """Add the path that leads to an answer."""
        self._kept.count += 1
        # The same contents lead to the same reads, so a path that exists asks for the same buckets.
        node, known = self._root, 0
        last: _Fork[T] | None = None
        while isinstance(node, _Fork) and known < len(trace):
            last, node = node, node.after(trace[known][1])
            known += 1
        end: _Fork[T] | _Answer[T] = _Answer(value)
        for bucket, content in reversed(trace[known:]):
            end = _Fork(bucket, content, end)
        if last is None:
            self._root = end
        elif node is None:
            last.add(trace[known - 1][1], end)
