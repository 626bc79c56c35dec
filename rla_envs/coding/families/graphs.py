"""Graphs: a weighted graph loses or gains edges by some rules, and is then measured."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from typing import Any

import numpy as np

from rla_envs.coding.families.base import Family, integers
from rla_envs.coding.families.formats import GRAPH
from rla_envs.coding.families.operation import Operation, Plan, whole


def _drop_long(vertices: int, edges: list[list[int]], length: int) -> list[list[int]]:
    return [edge for edge in edges if edge[2] <= length]


def _drop_long_brute(vertices: int, edges: list[list[int]], length: int) -> list[list[int]]:
    result = []
    for u, v, w in edges:
        if not w > length:
            result.append([u, v, w])
    return result


def _drop_long_or_equal(vertices: int, edges: list[list[int]], length: int) -> list[list[int]]:
    return [edge for edge in edges if edge[2] < length]


def _drop_leaves(vertices: int, edges: list[list[int]]) -> list[list[int]]:
    degree = Counter(end for edge in edges for end in edge[:2])
    return [edge for edge in edges if degree[edge[0]] > 1 and degree[edge[1]] > 1]


def _drop_leaves_brute(vertices: int, edges: list[list[int]]) -> list[list[int]]:
    ends = [u for u, _, _ in edges] + [v for _, v, _ in edges]
    leaves = {vertex for vertex in range(1, vertices + 1) if ends.count(vertex) == 1}
    return [[u, v, w] for u, v, w in edges if not {u, v} & leaves]


def _drop_leaf_pairs(vertices: int, edges: list[list[int]]) -> list[list[int]]:
    degree = Counter(end for edge in edges for end in edge[:2])
    return [edge for edge in edges if degree[edge[0]] > 1 or degree[edge[1]] > 1]


def _drop_second_leaves(vertices: int, edges: list[list[int]]) -> list[list[int]]:
    degree = Counter(end for edge in edges for end in edge[:2])
    return [edge for edge in edges if degree[edge[1]] > 1]


def _drop_first_leaves(vertices: int, edges: list[list[int]]) -> list[list[int]]:
    degree = Counter(end for edge in edges for end in edge[:2])
    return [edge for edge in edges if degree[edge[0]] > 1]


def _add_path(vertices: int, edges: list[list[int]], length: int) -> list[list[int]]:
    return edges + [[vertex, vertex + 1, length] for vertex in range(1, vertices)]


def _add_path_brute(vertices: int, edges: list[list[int]], length: int) -> list[list[int]]:
    result = list(edges)
    for vertex in range(vertices, 1, -1):
        result.append([vertex, vertex - 1, length])
    return result


def _add_ring(vertices: int, edges: list[list[int]], length: int) -> list[list[int]]:
    return edges + [[vertex, vertex % vertices + 1, length] for vertex in range(1, vertices + 1)]


def _close_every(vertices: int, edges: list[list[int]], step: int) -> list[list[int]]:
    return [edge for edge in edges if edge[0] % step and edge[1] % step]


def _close_every_brute(vertices: int, edges: list[list[int]], step: int) -> list[list[int]]:
    closed = range(step, vertices + 1, step)
    return [[u, v, w] for u, v, w in edges if u not in closed and v not in closed]


def _close_every_both(vertices: int, edges: list[list[int]], step: int) -> list[list[int]]:
    return [edge for edge in edges if edge[0] % step or edge[1] % step]


def _close_every_second(vertices: int, edges: list[list[int]], step: int) -> list[list[int]]:
    return [edge for edge in edges if edge[1] % step]


def _add_gap(vertices: int, edges: list[list[int]]) -> list[list[int]]:
    return [[u, v, w + abs(u - v)] for u, v, w in edges]


def _add_gap_brute(vertices: int, edges: list[list[int]]) -> list[list[int]]:
    return [[u, v, max(u, v) - min(u, v) + w] for u, v, w in edges]


def _add_signed_gap(vertices: int, edges: list[list[int]]) -> list[list[int]]:
    return [[u, v, max(1, w + v - u)] for u, v, w in edges]


def _total_length(vertices: int, edges: list[list[int]]) -> int:
    return sum(w for _, _, w in edges)


def _total_length_brute(vertices: int, edges: list[list[int]]) -> int:
    total = 0
    for edge in edges:
        total += edge[2]
    return total


def _edge_count(vertices: int, edges: list[list[int]]) -> int:
    return len(edges)


def _largest_degree(vertices: int, edges: list[list[int]]) -> int:
    degree = Counter(end for edge in edges for end in edge[:2])
    return max(degree.values(), default=0)


def _largest_degree_brute(vertices: int, edges: list[list[int]]) -> int:
    return max(sum(vertex in edge[:2] for edge in edges) for vertex in range(1, vertices + 1))


def _largest_out_degree(vertices: int, edges: list[list[int]]) -> int:
    return max(Counter(u for u, _, _ in edges).values(), default=0)


def _distance(vertices: int, edges: list[list[int]]) -> int:
    near: list[list[tuple[int, int]]] = [[] for _ in range(vertices + 1)]
    for u, v, w in edges:
        near[u].append((v, w))
        near[v].append((u, w))
    best = {1: 0}
    queue = [(0, 1)]
    while queue:
        distance, u = heapq.heappop(queue)
        if distance > best[u]:
            continue
        for v, w in near[u]:
            if v not in best or distance + w < best[v]:
                best[v] = distance + w
                heapq.heappush(queue, (distance + w, v))
    return best.get(vertices, -1)


def _distance_brute(vertices: int, edges: list[list[int]]) -> int:
    best = [float("inf")] * (vertices + 1)
    best[1] = 0
    for _ in range(vertices):
        for u, v, w in edges:
            best[u], best[v] = min(best[u], best[v] + w), min(best[v], best[u] + w)
    return -1 if best[vertices] == float("inf") else int(best[vertices])


def _distance_one_way(vertices: int, edges: list[list[int]]) -> int:
    best = {1: 0}
    for _ in range(min(vertices, 12)):
        for u, v, w in edges:
            if u in best and best[u] + w < best.get(v, best[u] + w + 1):
                best[v] = best[u] + w
    return best.get(vertices, -1)


def _fewest_edges(vertices: int, edges: list[list[int]]) -> int:
    near: list[list[int]] = [[] for _ in range(vertices + 1)]
    for u, v, _ in edges:
        near[u].append(v)
        near[v].append(u)
    steps = {1: 0}
    queue = deque([1])
    while queue:
        u = queue.popleft()
        for v in near[u]:
            if v not in steps:
                steps[v] = steps[u] + 1
                queue.append(v)
    return steps.get(vertices, -1)


def _roots(vertices: int, edges: list[list[int]]) -> list[int]:
    parent = list(range(vertices + 1))
    for u, v, _ in edges:
        while parent[u] != u:
            parent[u] = u = parent[parent[u]]
        while parent[v] != v:
            parent[v] = v = parent[parent[v]]
        parent[u] = v
    roots = []
    for vertex in range(1, vertices + 1):
        while parent[vertex] != vertex:
            vertex = parent[vertex]
        roots.append(vertex)
    return roots


def _labels(vertices: int, edges: list[list[int]]) -> list[int]:
    label = list(range(vertices + 1))
    for u, v, _ in edges:
        old, new = label[u], label[v]
        label = [new if place == old else place for place in label]
    return label[1:]


def _components(vertices: int, edges: list[list[int]]) -> int:
    return len(set(_roots(vertices, edges)))


def _components_brute(vertices: int, edges: list[list[int]]) -> int:
    return len(set(_labels(vertices, edges)))


def _components_with_edges(vertices: int, edges: list[list[int]]) -> int:
    touched = {end for edge in edges for end in edge[:2]}
    roots = _roots(vertices, edges)
    return len({roots[vertex - 1] for vertex in touched})


def _components_of_a_forest(vertices: int, edges: list[list[int]]) -> int:
    return max(1, vertices - len(edges))


def _largest_component(vertices: int, edges: list[list[int]]) -> int:
    return max(Counter(_roots(vertices, edges)).values())


def _largest_component_brute(vertices: int, edges: list[list[int]]) -> int:
    return max(Counter(_labels(vertices, edges)).values())


def _largest_neighbourhood(vertices: int, edges: list[list[int]]) -> int:
    near = {vertex: {vertex} for vertex in range(1, vertices + 1)}
    for u, v, _ in edges:
        near[u].add(v)
        near[v].add(u)
    return max(map(len, near.values()))


def _forest_length(vertices: int, edges: list[list[int]]) -> int:
    parent = list(range(vertices + 1))
    total = 0
    for u, v, w in sorted(edges, key=lambda edge: edge[2]):
        while parent[u] != u:
            parent[u] = u = parent[parent[u]]
        while parent[v] != v:
            parent[v] = v = parent[parent[v]]
        if u != v:
            parent[u] = v
            total += w
    return total


def _forest_length_brute(vertices: int, edges: list[list[int]]) -> int:
    label = list(range(vertices + 1))
    total = 0
    for w, u, v in sorted([w, u, v] for u, v, w in edges):
        if label[u] != label[v]:
            total += w
        old, new = label[u], label[v]
        label = [new if place == old else place for place in label]
    return total


def _forest_in_given_order(vertices: int, edges: list[list[int]]) -> int:
    label = list(range(vertices + 1))
    total = 0
    for u, v, w in edges:
        if label[u] != label[v]:
            total += w
            old, new = label[u], label[v]
            label = [new if place == old else place for place in label]
    return total


class Graphs(Family):
    """Dropping and adding edges, then degrees, distances, components or a shortest forest."""

    name = "graphs"
    title = "Graph queries"
    intro = (
        "You are given an undirected graph with vertices 1, 2, 3, ... and n edges. An edge joins vertices u "
        "and v and has length w. There may be several edges between two vertices, and none joins a vertex "
        "to itself. The degree of a vertex is the number of edges that end in it."
    )
    limits = (
        "The number of vertices is at least 2 and at most n + 3. For each edge, u and v are different "
        "vertices, and 1 <= w <= 1000000."
    )
    form = GRAPH
    operations = (
        Operation(
            "Remove every edge that is longer than {0}.",
            _drop_long,
            _drop_long_brute,
            (_drop_long_or_equal,),
            draw=whole(5, 8),
        ),
        Operation(
            "Remove every edge that ends in a vertex of degree 1, all at the same time (once).",
            _drop_leaves,
            _drop_leaves_brute,
            (_drop_leaf_pairs, _drop_second_leaves, _drop_first_leaves),
        ),
        Operation(
            "Add an edge of length {0} between vertices 1 and 2, another one between 2 and 3, and so on up "
            "to the last vertex.",
            _add_path,
            _add_path_brute,
            (_add_ring,),
            draw=whole(2, 6),
        ),
        Operation(
            "Remove every edge that ends in a vertex whose number is divisible by {0}.",
            _close_every,
            _close_every_brute,
            (_close_every_both, _close_every_second),
            draw=whole(3, 5),
        ),
        Operation(
            "Make every edge longer by the difference between the numbers of its vertices.",
            _add_gap,
            _add_gap_brute,
            (_add_signed_gap,),
        ),
        Operation(
            "The answer is the total length of all edges.",
            _total_length,
            _total_length_brute,
            (_edge_count,),
            final=True,
            easy=True,
        ),
        Operation(
            "The answer is the largest degree of a vertex.",
            _largest_degree,
            _largest_degree_brute,
            (_largest_out_degree,),
            final=True,
            easy=True,
        ),
        Operation(
            "The answer is the length of a shortest way from vertex 1 to the last vertex, or -1 if there is "
            "none.",
            _distance,
            _distance_brute,
            (_distance_one_way, _fewest_edges),
            final=True,
            heavy=True,
        ),
        Operation(
            "The answer is the number of connected components; a vertex without edges is one.",
            _components,
            _components_brute,
            (_components_with_edges, _components_of_a_forest),
            final=True,
            heavy=True,
        ),
        Operation(
            "The answer is the number of vertices of the largest connected component.",
            _largest_component,
            _largest_component_brute,
            (_largest_neighbourhood,),
            final=True,
            heavy=True,
        ),
        Operation(
            "The answer is the smallest total length of edges that connect whatever the graph connects (a "
            "shortest spanning forest).",
            _forest_length,
            _forest_length_brute,
            (_forest_in_given_order, _total_length),
            final=True,
            heavy=True,
        ),
    )

    def draw_input(self, rng: np.random.Generator, n: int, plan: Plan) -> list[Any]:
        """Return a number of vertices and ``n`` edges between them, of lengths up to 9."""
        vertices = int(rng.integers(2, n // 2 + 4)) if n <= 40 else n // 2
        starts = integers(rng, 0, vertices - 1, n)
        steps = integers(rng, 1, vertices - 1, n)
        lengths = integers(rng, 1, 9, n)
        return [
            vertices,
            [[u + 1, (u + s) % vertices + 1, w] for u, s, w in zip(starts, steps, lengths, strict=True)],
        ]

    def special_inputs(self, plan: Plan) -> list[list[Any]]:
        """Return parallel edges, a path, two triangles, and a star of long edges."""
        return [
            [2, [[1, 2, 5], [2, 1, 3], [1, 2, 3]]],
            [6, [[6, 5, 1], [5, 4, 2], [4, 3, 3], [3, 2, 4], [2, 1, 5]]],
            [7, [[1, 2, 4], [2, 3, 4], [3, 1, 9], [7, 5, 2], [5, 6, 2], [6, 7, 2]]],
            [5, [[3, 1, 1000000], [3, 2, 7], [3, 4, 6], [3, 5, 1]]],
        ]

    def solve(self, plan: Plan, arguments: list[Any], brute: bool = False) -> Any:
        """Return the answer; the steps but the last one change the edges only."""
        vertices, edges = arguments
        for step in plan:
            edges = step.function(brute)(vertices, edges, *step.arguments)
        return edges

    def solve_source(self, plan: Plan, brute: bool = False) -> str:
        """Return the source of ``solve``."""
        calls = [f"    edges = {step.call('vertices', 'edges')}\n" for step in plan[:-1]]
        last = plan[-1].call("vertices", "edges")
        return f"def solve(vertices, edges):\n{''.join(calls)}    return {last}\n"
