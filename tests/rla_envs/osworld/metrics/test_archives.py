"""Metrics over archives, books and PDF files."""

import io
import tarfile
import zipfile

import pytest

from rla_envs.errors import InputError
from rla_envs.osworld.metrics import METRICS
from tests.rla_envs.osworld.metrics.pdf_file import pdf

TEXT = "The quick brown fox jumps over the lazy dog"
NEARLY = TEXT.replace("lazy", "hazy")


@pytest.fixture
def file(tmp_path):
    """Save bytes as a file with a name of its own."""
    count = iter(range(100))

    def save(data, suffix):
        path = tmp_path / f"file{next(count)}{suffix}"
        path.write_bytes(data)
        return str(path)

    return save


def zipped(members):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


def tarred(members):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return data.getvalue()


def test_pdf_texts_are_compared(file):
    metric, reference = METRICS["compare_pdfs"], file(pdf(TEXT, "Page two"), ".pdf")
    assert metric(file(pdf(TEXT, "Page two"), ".pdf"), reference) == 1.0
    # Two letters of about 104 on both sides.
    assert 0.97 < metric(file(pdf(NEARLY, "Page two"), ".pdf"), reference) < 1.0
    assert metric(file(pdf("1234567"), ".pdf"), reference) < 0.2
    for nothing in (None, file(b"", ".pdf"), file(b"%PDF-1.4\nnone", ".pdf"), "missing.pdf"):
        assert metric(nothing, reference) == 0.0
    with pytest.raises(InputError):
        metric(reference, file(b"not a PDF", ".pdf"))


def test_several_pdfs_are_scored_by_their_mean(file):
    metric = METRICS["compare_pdfs"]
    first, second = file(pdf("aaaa"), ".pdf"), file(pdf("bbbb"), ".pdf")
    assert metric([first, second], [first, second]) == 1.0
    assert metric([first, first], [first, second]) == 0.5
    assert metric([first, None], [first, second]) == 0.5
    assert metric([first], [first, second]) == 0.5


@pytest.mark.parametrize(
    ("relation", "wanted", "score"), [("eq", 2, 1.0), ("eq", 1, 0.0), ("le", 2, 1.0), ("gt", 2, 0.0)]
)
def test_pages_are_counted(file, relation, wanted, score):
    rule = {"relation": relation, "ref_value": wanted}
    assert METRICS["check_pdf_pages"](file(pdf("a", "b"), ".pdf"), rule) == score
    assert METRICS["check_pdf_pages"](file(b"junk", ".pdf"), rule) == 0.0
    with pytest.raises(InputError):
        METRICS["check_pdf_pages"](file(pdf("a"), ".pdf"), {"relation": "is", "ref_value": 1})


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_archives_have_the_same_members(file, pack):
    metric = METRICS["compare_zip_files"]
    reference = file(pack({"a.txt": b"a", "d/b.pdf": pdf(TEXT * 3)}), ".zip")
    assert metric(file(zipped({"d/b.pdf": pdf(TEXT * 3), "a.txt": b"a"}), ".zip"), reference) == 1.0
    # PDF files may differ by one letter in twenty.
    assert metric(file(zipped({"d/b.pdf": pdf(NEARLY + TEXT * 2), "a.txt": b"a"}), ".zip"), reference) == 1.0
    for members in (
        {"a.txt": b"b", "d/b.pdf": pdf(TEXT * 3)},
        {"a.txt": b"a", "d/b.pdf": pdf("Something else altogether")},
        {"a.txt": b"a", "d/b.pdf": b"junk"},
        {"a.txt": b"a", "b.pdf": pdf(TEXT * 3)},
        {"a.txt": b"a"},
        {},
    ):
        assert metric(file(zipped(members), ".zip"), reference) == 0.0
    assert metric(file(b"junk", ".zip"), reference) == 0.0


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_files_of_a_folder_in_an_archive_are_scored_one_by_one(file, pack):
    metric, options = METRICS["compare_archive"], {"file_path": "slides", "file_type": "pdf"}
    reference = file(pack({"slides/1.pdf": pdf("aaaa"), "slides/2.pdf": pdf("bbbb"), "x/y.pdf": b""}), ".zip")
    assert (
        metric(
            file(zipped({"slides/2.pdf": pdf("bbbb"), "./slides/1.pdf": pdf("aaaa")}), ".zip"),
            reference,
            **options,
        )
        == 1.0
    )
    assert (
        metric(
            file(zipped({"slides/1.pdf": pdf("aaaa"), "slides/2.pdf": pdf("cccc")}), ".zip"),
            reference,
            **options,
        )
        == 0.5
    )
    assert (
        metric(
            file(zipped({"slides/1.pdf": pdf("aaaa"), "slides/2.pdf": b"junk"}), ".zip"), reference, **options
        )
        == 0.5
    )
    for members in ({"slides/1.pdf": pdf("aaaa")}, {"1.pdf": pdf("aaaa"), "2.pdf": pdf("bbbb")}, {}):
        assert metric(file(zipped(members), ".zip"), reference, **options) == 0.0
    texts = file(zipped({"a.txt": b"A b"}), ".zip")
    assert metric(file(zipped({"a.txt": b"a  b"}), ".zip"), texts) == 0.0
    assert (
        metric(file(zipped({"a.txt": b"a  b"}), ".zip"), texts, ignore_blanks=True, ignore_case=True) == 1.0
    )
    with pytest.raises(InputError, match="video"):
        metric(texts, texts, file_type="video")
    with pytest.raises(InputError, match="ignore_blank"):
        metric(texts, texts, ignore_blank=True)
    with pytest.raises(InputError, match="no files"):
        metric(texts, texts, file_path="none")


def test_members_of_hostile_archives_stay_where_they_are(file, tmp_path):
    metric, reference = METRICS["compare_archive"], file(zipped({"a.txt": b"a"}), ".zip")
    assert metric(file(zipped({"../../a.txt": b"a"}), ".zip"), reference) == 0.0
    assert metric(file(tarred({"/etc/a.txt": b"a"}), ".tar"), reference) == 0.0
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        entry = tarfile.TarInfo("a.txt")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(entry)
    assert metric(file(data.getvalue(), ".tar"), reference) == 0.0
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".tar", ".tar", ".zip", ".zip"]


def book(page="<html><body><p>One</p><p>Two</p></body></html>", identifier="1", **others):
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "toc.ncx": f"<ncx>\n<navPoint id='{identifier}'/>\n<text>One</text>\n</ncx>",
            "content.opf": f"<package>\n<dc:identifier>{identifier}</dc:identifier>\n<title>T</title>",
            "pages/1.html": page,
            **others,
        }
    )


def test_books_are_scored_by_their_common_lines(file):
    metric, reference = METRICS["compare_epub"], file(book(), ".epub")
    assert metric(file(book(identifier="2"), ".epub"), reference) == 1.0
    assert (
        metric(file(book(page="<html>\n<body><p>One</p>\n<p>Two</p></body></html>"), ".epub"), reference)
        == 1.0
    )
    assert (
        0.6
        < metric(file(book(page="<html><body><p>One</p><p>2</p></body></html>"), ".epub"), reference)
        < 1.0
    )
    # Three of four files are the reference's.
    more = file(book(**{"pages/2.html": "<html><body><p>More</p></body></html>"}), ".epub")
    assert metric(more, reference) == metric(reference, more) == pytest.approx(3 / 4)
    assert metric(file(zipped({"mimetype": b""}), ".epub"), reference) == 0.0
    assert metric(file(b"junk", ".epub"), reference) == 0.0
    with pytest.raises(InputError):
        metric(reference, file(zipped({"mimetype": b""}), ".epub"))
