"""The messages of the accessibility bus are those that jeepney, a D-Bus library, would write and read."""

import pytest

pytest.importorskip("jeepney", reason="needs the extra 'osworld'")

from jeepney import DBusAddress, HeaderFields, MessageType, Parser, new_method_call
from jeepney.low_level import Endianness, Header, MessageFlag
from jeepney.low_level import Message as JeepneyMessage

from rla_envs.osworld.desktop.box import _wire
from rla_envs.osworld.desktop.box._atspi import _decoded, pack_strings


def reply(signature, body, serial=7, kind=MessageType.method_return, sender=":1.42"):
    fields = {HeaderFields.reply_serial: serial, HeaderFields.sender: sender}
    if signature:
        fields[HeaderFields.signature] = signature
    header = Header(Endianness.little, kind, MessageFlag(0), 1, -1, -1, fields)
    return JeepneyMessage(header, body).serialise(serial=3)


@pytest.mark.parametrize("destination", [":1.1", ":1.12345", "org.a11y.atspi.Registry"])
@pytest.mark.parametrize("path", ["/", "/org/a11y/atspi/accessible/root", "/org/a11y/atspi/accessible/1"])
@pytest.mark.parametrize(
    ("signature", "body", "packed"),
    [
        ("", (), b""),
        ("ii", (0, -1), b"\0\0\0\0\xff\xff\xff\xff"),
        ("ss", ("org.a11y.atspi.Value", "é"), pack_strings("org.a11y.atspi.Value", "é")),
    ],
)
def test_a_call_reads_back_as_the_same_call(destination, path, signature, body, packed):
    method = _wire.Method("org.a11y.atspi.Text", "GetText", signature, _wire.string)
    message = _wire.method_call(_wire.call_prefix(destination, method), path, 9, packed)
    parser = Parser()
    parser.add_data(message)
    read = parser.get_next_message()
    expected = new_method_call(
        DBusAddress(path, destination, "org.a11y.atspi.Text"), "GetText", signature or None, body
    )
    assert read.header.fields == expected.header.fields
    assert (read.header.serial, read.body) == (9, body)
    assert parser.get_next_message() is None


REF = (":1.3", "/org/a11y/atspi/accessible/12")


@pytest.mark.parametrize(
    ("decode", "signature", "value", "expected"),
    [
        (_wire.string, "s", "Größe €", "Größe €"),
        (_wire.string, "s", "", ""),
        (_wire.states, "au", [1 << 31, 5], 5 << 32 | 1 << 31),
        (_wire.states, "au", [], 0),
        (_wire.extents, "(iiii)", (-1, 2, 30, 4), (-1, 2, 30, 4)),
        (_wire.number, "u", 4_000_000_000, 4_000_000_000),
        (_wire.reference, "(so)", REF, REF),
        (_wire.references, "a(so)", [REF, (":1.10", "/a"), REF], [REF, (":1.10", "/a"), REF]),
        (_wire.references, "a(so)", [], []),
        (_wire.pairs, "a{ss}", {"toolkit": "gtk", "": "x"}, {"toolkit": "gtk", "": "x"}),
        (
            _wire.triples,
            "a(sss)",
            [("click", "", "<Alt>F"), ("a", "b", "")],
            [("click", "", "<Alt>F"), ("a", "b", "")],
        ),
        (_wire.strings, "as", ["one", "", "three"], ["one", "", "three"]),
        (_wire.variant, "v", ("s", "name"), "name"),
        (_wire.variant, "v", ("i", -5), -5),
        (_wire.variant, "v", ("d", 0.25), 0.25),
        (_wire.variant, "v", ("(so)", REF), None),
        (
            _wire.properties,
            "a{sv}",
            {"a": ("d", 1.5), "b": ("s", "x"), "c": ("i", 3)},
            {"a": 1.5, "b": "x", "c": 3},
        ),
        (_wire.properties, "a{sv}", {"a": ("s", "x"), "b": ("as", ["y"]), "c": ("i", 3)}, {"a": "x"}),
        (_wire.properties, "a{sv}", {}, {}),
    ],
)
def test_what_a_call_returned_is_read_as_it_was_written(decode, signature, value, expected):
    ((kind, serial, message, body),) = _wire.Splitter().feed(reply(signature, (value,)))
    assert (kind, serial) == (_wire.METHOD_RETURN, 7)
    assert decode(message, body) == expected


def test_messages_are_whole_however_the_bytes_arrive():
    replies = [
        reply("s", (f"answer {number}",), serial=number, sender=":1." + "1" * number)
        for number in range(1, 20)
    ]
    replies.append(reply("s", ("no such object",), serial=99, kind=MessageType.error))
    stream = b"".join(replies)
    for size in (1, 7, 100, len(stream)):
        splitter = _wire.Splitter()
        found = [each for at in range(0, len(stream), size) for each in splitter.feed(stream[at : at + size])]
        assert [serial for _, serial, _, _ in found] == [*range(1, 20), 99]
        assert [_wire.string(message, body) for _, _, message, body in found][4] == "answer 5"
        assert [kind for kind, _, _, _ in found] == [_wire.METHOD_RETURN] * 19 + [_wire.ERROR]


def test_a_signal_answers_no_call():
    fields = {
        HeaderFields.path: "/org/a11y/atspi/accessible/root",
        HeaderFields.interface: "org.a11y.atspi.Event.Object",
        HeaderFields.member: "ChildrenChanged",
        HeaderFields.signature: "s",
    }
    header = Header(Endianness.little, MessageType.signal, MessageFlag(0), 1, -1, -1, fields)
    ((kind, serial, _, _),) = _wire.Splitter().feed(JeepneyMessage(header, ("add",)).serialise(serial=8))
    assert (kind, serial) == (_wire.SIGNAL, 0)


@pytest.mark.parametrize(
    ("signature", "value"), [("s", "\xff" * 9), ("u", 0xFFFFFFF0), ("as", ["x"]), ("v", ("s", "x"))]
)
@pytest.mark.parametrize(
    "decode",
    [
        _wire.references,
        _wire.reference,
        _wire.pairs,
        _wire.triples,
        _wire.properties,
        _wire.extents,
        _wire.states,
    ],
)
def test_an_answer_of_another_type_ends_no_reading(decode, signature, value):
    ((_, _, message, body),) = _wire.Splitter().feed(reply(signature, (value,)))
    _decoded(decode, message, body)
