import bz2
import gzip
import json
import lzma
import sys

import pytest
import zstandard

from winokit.errors import BadInput, Malformed, MissingExtra, UnknownName
from winokit.methods.hunting import corpus
from winokit.methods.hunting.corpus import CorpusLayout, blocks, documents, find_files

TEXT = "One sentence. Another sentence.\n\nA second paragraph,\nwrapped.\n"
PLAIN = CorpusLayout()


def read_documents(path, layout=PLAIN):
    """Documents of all blocks of the file."""
    all_documents = []
    for block in blocks(path, layout):
        all_documents += documents(block, path, layout)
    return all_documents


@pytest.mark.parametrize(
    ("ending", "packed"),
    [
        (".txt", lambda data: data),
        (".txt.gz", gzip.compress),
        (".txt.xz", lzma.compress),
        (".txt.bz2", bz2.compress),
        (".txt.zst", zstandard.ZstdCompressor().compress),
        (".md", lambda data: b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")),
    ],
)
def test_text_is_the_same_however_it_is_packed(tmp_path, ending, packed):
    path = tmp_path / f"text{ending}"
    path.write_bytes(packed(TEXT.encode()))
    assert "".join(block.text for block in blocks(path, PLAIN)) == TEXT


def test_a_document_is_a_paragraph_a_line_or_a_record(tmp_path):
    text = tmp_path / "text.txt"
    rows = tmp_path / "rows.jsonl.gz"
    text.write_text(TEXT)
    rows.write_bytes(gzip.compress(b'{"text": "one\\n\\nthing", "n": 1}\n\n"another"\n'))
    paragraphs = [paragraph.strip() for paragraph in read_documents(text)]
    assert paragraphs == ["One sentence. Another sentence.", "A second paragraph,\nwrapped."]
    assert read_documents(text, CorpusLayout("lines"))[1:] == ["A second paragraph,", "wrapped."]
    assert read_documents(rows) == ["one\n\nthing", "another"]


def test_blocks_end_where_paragraphs_do_and_say_their_line(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "BLOCK", 40)
    path = tmp_path / "text.txt"
    path.write_text("".join(f"paragraph {number} é\n\n" for number in range(20)))
    all_blocks = list(blocks(path, PLAIN))
    first, second = all_blocks[:2]
    assert len(all_blocks) > 5
    assert all(block.text.endswith("\n\n") for block in all_blocks)
    assert "".join(block.text for block in all_blocks) == path.read_text()
    assert first.line == 1
    assert second.line == 1 + first.text.count("\n")
    assert all_blocks[-1].read == path.stat().st_size


@pytest.mark.parametrize(("text", "end"), [("a line of words\n", "\n"), ("A sentence. ", "."), ("words ", " ")])
def test_a_text_without_paragraphs_is_cut_where_it_hurts_least(tmp_path, monkeypatch, text, end):
    monkeypatch.setattr(corpus, "BLOCK", 40)
    path = tmp_path / "text.txt"
    path.write_text(text * 100)
    all_blocks = list(blocks(path, PLAIN))
    assert len(all_blocks) > 3
    assert all(block.text.endswith(end) for block in all_blocks[:-1])
    assert "".join(block.text for block in all_blocks) == text * 100


def test_a_folder_is_its_files_of_text_in_order(tmp_path):
    (tmp_path / "b.txt").write_text("b")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "c.txt").write_text("c")
    (tmp_path / ".hidden").write_text("x")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\x00\x01")
    (tmp_path / "old.txt").write_bytes("café".encode("latin-1"))
    files, notes = find_files([tmp_path, tmp_path / "b.txt"], PLAIN)
    assert [file.relative_to(tmp_path).as_posix() for file in files] == ["a/c.txt", "b.txt"]
    assert len(notes) == 1
    assert "2 others skipped" in notes[0]


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.txt", b"text\x00more", "a binary file, not text"),
        ("a.txt", b"\x80\x00\x01", "a binary file, not text"),
        ("a.txt", "a caf\xe9 and more".encode("latin-1"), "not utf-8 near byte 5; say --encoding"),
        ("a.txt.gz", b"no gzip at all", "cannot be read (Not a gzipped file"),
        ("a.txt.gz", gzip.compress(b"text " * 5000, mtime=0)[:60], "cannot be read (Compressed file ended"),
        ("a.txt.xz", b"no xz at all", "cannot be read ("),
        ("a.txt.zst", b"no zstandard at all", "cannot be read ("),
    ],
)
def test_what_is_no_text_is_refused_in_one_line(tmp_path, name, data, says):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(BadInput) as refused:
        read_documents(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_another_encoding_can_be_named(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("café".encode("latin-1"))
    assert read_documents(path, CorpusLayout(encoding="latin-1")) == ["café"]
    with pytest.raises(BadInput, match="no encoding named 'latin-111'"):
        CorpusLayout(encoding="latin-111")
    with pytest.raises(UnknownName, match="Did you mean 'lines'"):
        CorpusLayout("line")


@pytest.mark.parametrize(
    ("line", "says"), [("{broken", "expected a line of JSON"), (json.dumps({"body": "x"}), "field 'text'")]
)
def test_a_bad_record_is_named_by_its_line(tmp_path, line, says):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "fine"}\n' * 2 + line + "\n")
    with pytest.raises(Malformed, match=f"rows.jsonl:3: .*{says}"):
        read_documents(path)


def test_zst_without_its_extra_names_the_extra(tmp_path, monkeypatch):
    path = tmp_path / "a.txt.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(b"text"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtra, match=r"winokit\[hunt\]"):
        read_documents(path)
