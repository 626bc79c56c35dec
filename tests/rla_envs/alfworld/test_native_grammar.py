"""Texts are read as TextWorld reads them, whatever is in them; nothing in them is ever run."""

import random

import pytest

from rla_envs.alfworld import shipped
from rla_envs.alfworld.native import grammar
from rla_envs.alfworld.native.grammar import Call, Predicate, Text, Word, read_grammar, read_query, read_word
from rla_envs.errors import InvalidTaskError

textgen = pytest.importorskip("textworld.envs.pddl.textgen")
logic = pytest.importorskip("textworld.logic")

PIECES = (
    "#a.b#", "#ov(r)#", "{o.name}", "{o.name | p(o:o)}", "[{r | q(r:r, l:l)}]", "\n", "  ", "\t", "// c\n",
    "abc", ";", "|", '"', '"x y"', "<", ">", "[", "]", "{", "}", "#", "{#ov(o)#|p(o:o)}", ".", ", ", "don't",
    "\\n", "{\n o.name}", "{ o.name }", "[ {r.name} ]", "# a #", "a\n  b", "\n\n", "'", "é",
)  # fmt: skip


def ours(text):
    for symbol in grammar.read_symbols(text, "a rule"):
        if isinstance(symbol, Text | Call):
            yield type(symbol).__name__, symbol[0]
        else:
            inner = symbol.symbol.rule if isinstance(symbol.symbol, Call) else symbol.symbol
            yield "Each", inner, symbol.query, symbol.listed


def theirs(text):
    for symbol in textgen._parse_and_convert(text, rule_name="symbols"):
        if isinstance(symbol, textgen.TerminalSymbol):
            yield "Text", symbol.symbol
        elif isinstance(symbol, textgen.NonterminalSymbol):
            yield "Call", symbol.symbol
        else:
            listed = isinstance(symbol, textgen.ListSymbol)
            inner = symbol.symbol if listed else symbol
            yield "Each", inner.expression.symbol, inner.given or None, listed


def test_texts_are_read_as_textworld_reads_them(monkeypatch):
    monkeypatch.setattr(grammar, "read_word", lambda text, where: text)
    monkeypatch.setattr(grammar, "read_query", lambda text, where: text)
    rng = random.Random(0)
    for _ in range(3000):
        text = "".join(rng.choice(PIECES) for _ in range(rng.randint(0, 7)))
        assert list(ours(text)) == list(theirs(text)), repr(text)


@pytest.mark.parametrize(
    "text", ["p(a)", "p()", " p ( a , b:c ) & !q/r(a': t-u)&p(a)", "not_p(a'':a) & !not_p(a)", "p(a:\nb)"]
)
def test_queries_are_read_as_textworld_reads_them(text):
    rule = logic.Rule.parse_conjunctive_query(text)
    expected = [Predicate(p.name, tuple((a.name, a.type) for a in p.parameters)) for p in rule.preconditions]
    assert list(read_query(text, "a rule")) == expected


@pytest.mark.parametrize(
    "text", ["", "p", "p(a", "p(a) q(b)", "p(a) & ", "p(a b)", "p(a:)", "$p(a)", "p(a,)"]
)
def test_a_query_that_textworld_cannot_read_is_refused(text):
    with pytest.raises(InvalidTaskError, match="a rule: expected"):
        read_query(text, "a rule")
    with pytest.raises(Exception):  # noqa: B017, PT011 - whichever its parser raises
        logic.Rule.parse_conjunctive_query(text)


@pytest.mark.parametrize(
    ("text", "alternatives"),
    [
        ("r", ((("r", "name"),),)),
        (" r.name or r.id ", ((("r", "name"),), (("r", "id"),))),
        ("o.indefinite + ' ' + o.name", ((("o", "indefinite"), " ", ("o", "name")),)),
        ("'a' + ('b' + o.type)", (("a", "b", ("o", "type")),)),
    ],
)
def test_an_expression_is_read(text, alternatives):
    assert read_word(text, "a rule") == Word(alternatives)


@pytest.mark.parametrize(
    "text",
    [
        "r + ' '",
        "r.adj",
        "f(r)",
        "r['name']",
        "1",
        "r.name.upper()",
        "a if b else c",
        "r and r",
        "",
        "r =",
        "a\0",
    ],
)
def test_an_expression_of_another_form_is_refused(text):
    with pytest.raises(InvalidTaskError, match="a rule: .*expression"):
        read_word(text, "a rule")


def test_the_shipped_grammar_has_a_text_for_every_action_of_the_shipped_domain():
    assert {"gotolocation", "look", "help"} <= read_grammar(shipped.grammar()).actions.keys()
