"""A report as its reader gets it."""

import json
from html.parser import HTMLParser

VOID = {"meta", "br", "input", "link", "img", "hr"}


class Page(HTMLParser):
    """A parsed page: its tags with attributes, its text, its scripts, and whether tags close in order."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.text, self.scripts = [], [], "", []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif "style" not in self.open:
            self.text += f" {' '.join(data.split())}"

    @property
    def episodes(self):
        return json.loads(self.scripts[0]) if self.scripts else []
