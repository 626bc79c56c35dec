"""Zip files from the agent's desktop (office documents, archives), with bounds on what they unpack to."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lxml import etree

MAX_MEMBERS = 20_000
MAX_UNPACKED_BYTES = 512 * 2**20
MAX_XML_BYTES = 32 * 2**20
"""Largest XML of one document in total."""

# Ours to scan as bytes only where markup looks as in ASCII.
_ENCODINGS = frozenset({b"utf-8", b"us-ascii", b"ascii", b"iso-8859-1", b"windows-1252"})
_ENCODING = re.compile(rb"""encoding\s*=\s*["']([^"']+)""")
_BLANK_OR_MARK = b"\xef\xbb\xbf \t\r\n"
# How XML begins in UTF-16 and UTF-32 with the high byte first, and in EBCDIC; libxml2 reads them all.
_STRANGE_STARTS = (b"\0<\0", b"\0\0\0<\0\0\0", b"\x4c\x6f\xa7\x94")
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
_RELATIONSHIPS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_SHEETS = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip file that unpacks to a bounded size.

    The bounds go by the sizes the file declares; `zipfile` never unpacks a member beyond its own.

    Raises:
        ValueError: It has too many members, or they are too large.
        zipfile.BadZipFile: It is no zip file.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_UNPACKED_BYTES:
            raise ValueError(f"more than {MAX_MEMBERS} members or {MAX_UNPACKED_BYTES} bytes unpacked")
        yield archive


def check_document(path: Path) -> None:
    """Check an office document before a library opens it.

    Raises:
        ValueError: It unpacks to too much, or its XML declares entities or an encoding that no office program
            writes.
        zipfile.BadZipFile: It is no zip file.
    """
    with opened(path) as archive:
        for _ in xml_parts(archive):
            pass


def xml_parts(archive: zipfile.ZipFile) -> Iterator[bytes]:
    """Yield the XML parts of an office document, whatever their names; raises as `check_document`."""
    left = MAX_XML_BYTES
    for member in archive.infolist():
        with archive.open(member) as part:
            head = part.read(200)
        strange = head.startswith(_STRANGE_STARTS) or (head.startswith(_WIDE_MARKS) and b"<" in head)
        if not strange and head.lstrip(_BLANK_OR_MARK)[:1] not in (b"", b"<"):
            continue
        left -= member.file_size
        if left < 0:
            raise ValueError(f"more than {MAX_XML_BYTES} bytes of XML")
        encoding = _ENCODING.search(head)
        if strange or b"\0" in head or (encoding and encoding[1].lower() not in _ENCODINGS):
            raise ValueError(f"{member.filename} is in an encoding that no office program writes")
        data = archive.read(member)
        if declares_type(data):
            raise ValueError(f"{member.filename} declares a document type")
        yield data


def declares_type(data: bytes) -> bool:
    """Return whether XML has a document type declaration, the only place where entities can be declared."""
    mark = "<!DOCTYPE"
    return any(mark.encode(encoding) in data for encoding in ("ascii", "utf-16-le", "utf-16-be"))


def parse_xml(data: bytes) -> Any:
    """Return the root element of XML without entities, external parts or comments.

    Raises:
        ValueError: It is too large or declares a document type.
        lxml.etree.XMLSyntaxError: It is no XML.
    """
    if len(data) > MAX_XML_BYTES or declares_type(data):
        raise ValueError(f"XML of more than {MAX_XML_BYTES} bytes, or with a document type")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    return etree.fromstring(data, parser)


def sheet_parts(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return the part of each sheet of a workbook by the sheet's name, by the workbook's relationships."""
    targets = {
        relation.get("Id"): relation.get("Target")
        for relation in parse_xml(archive.read("xl/_rels/workbook.xml.rels"))
    }
    sheets = parse_xml(archive.read("xl/workbook.xml")).iter(f"{_SHEETS}sheet")
    return {
        sheet.get("name"): posixpath.normpath(
            posixpath.join("/xl", targets[sheet.get(f"{_RELATIONSHIPS}id")])
        )[1:]
        for sheet in sheets
    }
