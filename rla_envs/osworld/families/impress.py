"""Work in presentations: change titles, add slides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rla_envs.osworld.families import reading
from rla_envs.osworld.families.base import (
    IMPRESS,
    SAVE,
    Check,
    Document,
    Family,
    Job,
    Request,
    key,
    pause,
    repeated,
    steps_of,
    write,
)
from rla_envs.osworld.families.documents import presentation
from rla_envs.osworld.families.topics import PLACES, Topic
from rla_envs.osworld.families.writer import CLOSING, SAVE_HINT

Slides = list[tuple[str, str]]

TITLE_HINT = "Tab selects the title of the slide shown, and F2 lets you type in it."

_OPTIONS = {
    f"examine_{aspect}": False
    for aspect in (
        "shape",
        "indent",
        "font_name",
        "font_size",
        "font_bold",
        "font_italic",
        "color_rgb",
        "font_underline",
        "strike_through",
        "alignment",
        "background_color",
        "note",
        "bullets",
    )
}
"""Texts and slides count, not what another program makes of their look."""


def _read_slides(value: object) -> Slides:
    slides = []
    for entry in reading.items(value, "slides", 1, 8):
        slide = reading.fields(entry, "slide", ("title", "text"))
        slides.append((reading.text(slide["title"], "title"), reading.text(slide["text"], "text")))
    reading.distinct([title for title, _ in slides], "titles")
    return slides


def _sample_slides(topic: Topic, count: int, rng: np.random.Generator) -> list[dict[str, str]]:
    things = [str(thing) for thing in rng.permutation(topic.things)[:count]]
    return [{"title": thing, "text": f"Kept on the {rng.choice(PLACES)} side"} for thing in things]


def _job(
    job: Mapping[str, Any],
    folder: str,
    slides: Slides,
    end: Slides,
    requests: Sequence[Request],
    steps: Sequence[str],
    hint: str,
) -> Job:
    name = reading.file_name(job["file"], "file", ".pptx")
    data, goal = presentation(slides), presentation(end)
    document = Document(f"{folder}/{name}", data, IMPRESS, reading.text(job["about"], "about"))
    result = {"type": "vm_file", "path": document.path, "dest": name}
    check = Check("compare_pptx_files", result, data, goal, reference=goal, options=_OPTIONS)
    return Job((document,), tuple(requests), CLOSING, (SAVE_HINT, hint), (check,), (*steps, SAVE))


class ImpressTitles(Family):
    """Change the titles of slides."""

    name = "impress_titles"
    applications = (IMPRESS,)
    summary = "change titles of slides"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw slides, and other titles for some."""
        slides = _sample_slides(topic, 6, rng)
        chosen = sorted(int(i) for i in rng.permutation(len(slides))[:edits])
        names = [
            str(name) for name in rng.permutation(("Overview", "Outlook", "Costs", "Team", "Dates", "Risks"))
        ]
        return {
            "file": f"{topic.stem}.pptx",
            "about": topic.about,
            "slides": slides,
            "edits": [{"slide": i + 1, "title": name} for i, name in zip(chosen, names, strict=False)],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("file", "about", "slides", "edits"))
        slides = _read_slides(job["slides"])
        end, requests, steps, done = list(slides), [], [], []
        for entry in reading.items(job["edits"], "edits", 1, 6):
            edit = reading.fields(entry, "edit", ("slide", "title"))
            number = reading.integer(edit["slide"], "slide", 1, len(slides))
            title, (old, text) = reading.text(edit["title"], "title"), slides[number - 1]
            end[number - 1] = (title, text)
            done += [number, title]
            requests.append(
                Request(
                    f"change the title of slide {number} to {title!r}",
                    f"change the title {old!r} to {title!r}",
                    f"let the slide on {old} be called {title}",
                    f"slide {number}",
                )
            )
            steps += [_show(number, len(slides)), *_type_title(title)]
        reading.distinct([*done, *(title for title, _ in slides)], "titles")
        return _job(job, folder, slides, end, requests, steps, TITLE_HINT)

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last title with another letter or on another slide; one title too many."""
        *others, last = job["edits"]
        taken = {edit["slide"] for edit in job["edits"]}
        free = [n for n in range(1, len(job["slides"]) + 1) if n not in taken]
        misses = {
            "wrong spelling": [*others, {**last, "title": f"{last['title']}s"}],
            "wrong slide": [*others, {**last, "slide": free[0]}],
            "one title too many": [*job["edits"], {"slide": free[-1], "title": "Summary"}],
        }
        return {wrong: {**job, "edits": edits} for wrong, edits in misses.items()}


class ImpressSlides(Family):
    """Add slides with titles at the end of a presentation."""

    name = "impress_slides"
    applications = (IMPRESS,)
    summary = "add slides to a presentation"

    def sample(self, edits: int, topic: Topic, rng: np.random.Generator) -> dict[str, Any]:
        """Draw slides, and the titles of those that are missing."""
        names = [
            str(name) for name in rng.permutation(("Overview", "Outlook", "Costs", "Team", "Dates", "Risks"))
        ]
        return {
            "file": f"{topic.stem}.pptx",
            "about": topic.about,
            "titles": [str(thing) for thing in rng.permutation(topic.things)[:2]],
            "edits": [{"title": name} for name in names[:edits]],
        }

    def read(self, job: Mapping[str, Any], folder: str) -> Job:
        """Make the job ready; see :class:`Family`."""
        job = reading.fields(job, self.name, ("file", "about", "titles", "edits"))
        titles = [reading.text(title, "titles") for title in reading.items(job["titles"], "titles", 1, 8)]
        slides: Slides = [(title, "") for title in titles]
        end, requests = list(slides), []
        steps = [repeated("pagedown", len(slides))]
        for entry in reading.items(job["edits"], "edits", 1, 6):
            title = reading.text(reading.fields(entry, "edit", ("title",))["title"], "title")
            end.append((title, ""))
            requests.append(
                Request(
                    f"add slide {len(end)} at the end, with the title {title!r} and no other text",
                    f"add a slide with the title {title!r} and no other text at the end",
                    f"let the presentation end with a further slide that only says {title}",
                    f"slide {len(end)}",
                )
            )
            steps += _add_slide(title)
        reading.distinct([title for title, _ in end], "titles")
        hint = "Ctrl+M adds a slide after the current one."
        return _job(job, folder, slides, end, requests, steps, hint)

    def near_misses(self, job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The last title with another letter; another title; one slide too many."""
        *others, last = job["edits"]
        misses = {
            "wrong spelling": [*others, {"title": f"{last['title']}s"}],
            "wrong title": [*others, {"title": "Contents"}],
            "one slide too many": [*job["edits"], {"title": "Contents"}],
        }
        return {wrong: {**job, "edits": edits} for wrong, edits in misses.items()}


def _show(slide: int, slides: int) -> str:
    """Return the step that shows a slide, counted from 1."""
    back = repeated("pageup", slides)
    return back if slide == 1 else steps_of(back, repeated("pagedown", slide - 1))


def _type_title(title: str) -> list[str]:
    """Return the steps that type the title of the slide shown, in the place of one that is there."""
    return [
        steps_of(key("tab"), key("f2"), pause(0.5), key("ctrl", "a")),
        steps_of(write(title), pause(0.3), key("esc"), key("esc")),
    ]


def _add_slide(title: str) -> list[str]:
    return [steps_of(key("ctrl", "m"), pause(1)), *_type_title(title)]
