"""Metrics over what a browser shows: tabs, bookmarks, extensions."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from rla_envs.errors import InputError, unknown_name
from rla_envs.osworld.metrics.inputs import paths, rule
from rla_envs.osworld.metrics.patterns import found

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_MAX_CHOICES = 100_000
_BOOKMARKS = ("bookmark_bar_folders_names", "bookmark_bar_websites_urls", "liked_authors_websites_urls")


def same_url(first: str, second: str) -> bool:
    """Return whether two addresses are the same but for capitals in the host, "www." and a lone slash.

    An address without a scheme is one of http. (OSWorld leaves out the suffix of the domain too, so that
    "example.org" is "example.com"; that is not followed.)
    """
    return _normal(first) == _normal(second)


def is_expected_active_tab(result: Any, expected: Any) -> float:
    """Return whether the active tab has the address ``url``."""
    wanted = _url_rule(expected, "url")
    url = _url(result)
    return float(url is not None and same_url(url, wanted))


def is_expected_active_tab_approximate(result: Any, expected: Any) -> float:
    """Return whether the active tab has the address ``url``, their queries aside."""
    wanted = _url_rule(expected, "url")
    url = _url(result)
    return float(url is not None and _without_query(url) == _without_query(wanted))


def is_expected_url_pattern_match(result: Any, expected: Any) -> float:
    """Return whether each pattern of ``expected["expected"]`` is found in the active tab's address."""
    patterns = paths(rule(expected, "expected"))
    url = _url(result)
    return float(url is not None and all(found(pattern, url) for pattern in patterns))


def is_expected_search_query(result: Any, expected: Any) -> float:
    """Return whether ``expected["expect"]["pattern"]`` is found in the active tab's address."""
    pattern = rule(rule(expected, "expect"), "pattern")
    url = _url(result)
    return float(url is not None and found(pattern, url))


def is_expected_tabs(result: Any, expected: Any) -> float:
    """Return whether the open tabs are those of ``urls``, in any order."""
    wanted = _url_rule(expected, "urls")
    urls = [_url(tab) for tab in result] if isinstance(result, list) else []
    if None in urls or not urls:
        return 0.0
    return float(sorted(_normal(url) for url in urls if url) == sorted(map(_normal, wanted)))


def is_expected_bookmarks(result: Any, expected: Any) -> float:
    """Return whether the bookmarks bar has just the given folders or sites.

    Args:
        result: Chrome's ``roots`` of bookmarks.
        expected: ``type``: ``bookmark_bar_folders_names`` with ``names``; ``bookmark_bar_websites_urls`` with
            ``urls``; ``liked_authors_websites_urls``: the folder "Liked Authors" has the sites ``urls``, one
            each of the choices where an entry is a list.
    """
    kind = rule(expected, "type")
    if kind not in _BOOKMARKS:
        raise unknown_name("type of is_expected_bookmarks", kind, _BOOKMARKS)
    bar = _children(result.get("bookmark_bar")) if isinstance(result, dict) else []
    if kind == "bookmark_bar_folders_names":
        names = {entry.get("name") for entry in bar if entry.get("type") == "folder"}
        return float(names == set(rule(expected, "names")))
    wanted = rule(expected, "urls")
    if kind == "bookmark_bar_websites_urls":
        return float(_sites(bar) == set(wanted))
    folders = [
        entry for entry in bar if entry.get("type") == "folder" and entry.get("name") == "Liked Authors"
    ]
    choices = [paths(choice) for choice in wanted]
    if math.prod(map(len, choices)) > _MAX_CHOICES:
        raise InputError(f"is_expected_bookmarks expects at most {_MAX_CHOICES} combinations of urls")
    liked = _sites(_children(folders[0])) if folders else set()
    return float(bool(folders) and any(set(choice) == liked for choice in itertools.product(*choices)))


def is_expected_installed_extensions(result: Any, expected: Any) -> float:
    """Return whether all of ``expected["expected"]`` are among the names of installed extensions."""
    wanted = rule(expected, "expected")
    return float(isinstance(result, (list, set, tuple)) and set(wanted) <= {str(name) for name in result})


def _url_rule(expected: Any, key: str) -> Any:
    if rule(expected, "type") != "url":
        raise unknown_name("type of tab", expected["type"], ("url",))
    return rule(expected, key)


def _url(tab: Any) -> str | None:
    url = tab.get("url") if isinstance(tab, dict) else tab
    return url if isinstance(url, str) and url else None


def _normal(url: str) -> str:
    parts = urlsplit(url if _SCHEME.match(url) else f"http://{url}")
    host = parts.netloc.lower().removeprefix("www.")
    path = "" if parts.path == "/" else parts.path
    return urlunsplit((parts.scheme.lower(), host, path, parts.query, parts.fragment))


def _without_query(url: str) -> str:
    return urlunsplit(urlsplit(url)._replace(query=""))


def _children(folder: Any) -> list[dict[str, Any]]:
    children = folder.get("children") if isinstance(folder, dict) else None
    return [entry for entry in children if isinstance(entry, dict)] if isinstance(children, list) else []


def _sites(entries: list[dict[str, Any]]) -> set[Any]:
    return {entry.get("url") for entry in entries if entry.get("type") == "url"}
