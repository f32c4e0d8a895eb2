"""Public datasets by name: from $WINOKIT_DATA, the cache, or their home, which here is a server of our own."""

import hashlib
import io
import json
import tarfile
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from winokit.data import known
from winokit.data.known import CATALOGUE
from winokit.data.loading import check_part, load
from winokit.errors import BadInput, UnknownName
from winokit.progress import telling

ROW = {"qID": "A-1", "sentence": "The cup did not fit the box since the _ was big.", "option1": "cup", "option2": "box"}
DEV = (json.dumps(ROW | {"answer": "1"}) + "\n").encode()
TRAIN = (json.dumps(ROW | {"answer": "1", "qID": "B-1", "option2": "bag"}).replace("box", "bag") + "\n").encode()


def zipped(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def tarred(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return packed.getvalue()


@pytest.fixture
def home():
    """A server: `served` has what lies there, `asked` what was asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            content = served.get(self.path)
            if isinstance(content, str):
                self.send_response(302)
                self.send_header("Location", content)
                self.end_headers()
                return
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_):
            pass

    served = {}
    asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.served = served
        server.asked = asked
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(autouse=True)
def empty_machine(tmp_path, monkeypatch):
    """Neither a folder of datasets nor a cache."""
    monkeypatch.delenv("WINOKIT_DATA", raising=False)
    monkeypatch.setenv("WINOKIT_CACHE", str(tmp_path / "cache" / "answers.sqlite"))
    return tmp_path / "cache" / "datasets"


@pytest.fixture
def lives_at(monkeypatch):
    """Give the catalogue's winogrande another home, and the hashes of our two files."""

    def move(home, **changed):
        files = {
            "dev": ("winogrande/dev.jsonl", hashlib.sha256(DEV).hexdigest()),
            "xl": ("winogrande/train_xl.jsonl", hashlib.sha256(TRAIN).hexdigest()),
        }
        monkeypatch.setitem(
            CATALOGUE, "winogrande", replace(CATALOGUE["winogrande"], home=home, files=files, **changed)
        )

    return move


def loaded(name):
    """The problems of a name, and what was told meanwhile."""
    told = []
    with telling(told.append):
        return [problem.candidates for problem in load(name)], told


@pytest.mark.parametrize(("pack", "file"), [(zipped, "all.zip"), (tarred, "all.tgz")])
def test_an_archive_is_downloaded_once_for_all_its_parts(home, lives_at, empty_machine, pack, file):
    home.served[f"/{file}"] = pack({"in/dev.jsonl": DEV, "in/train_xl.jsonl": TRAIN, "in/other": b"-"})
    lives_at(f"{home.url}/{file}#in")
    assert loaded("winogrande/dev")[0] == [("cup", "box")]
    assert loaded("winogrande/xl")[0] == [("cup", "bag")]
    assert home.asked == [f"/{file}"]
    assert sorted(path.name for path in empty_machine.rglob("*.*")) == ["dev.jsonl", "train_xl.jsonl"]


def test_a_file_is_downloaded_by_itself_and_through_redirects(home, lives_at):
    home.served |= {"/moved/dev.jsonl": DEV, "/dev.jsonl": "/moved/dev.jsonl"}
    lives_at(home.url)
    assert loaded("winogrande")[0] == [("cup", "box")]
    assert home.asked == ["/dev.jsonl", "/moved/dev.jsonl"]


def test_the_licence_is_shown_once(home, lives_at):
    home.served["/dev.jsonl"] = DEV
    lives_at(home.url)
    _, told = loaded("winogrande/dev")
    assert [line for line in told if "licence: CC BY" in line and "Sakaguchi" in line]
    assert loaded("winogrande/dev")[1] == []


def test_one_s_own_folder_comes_before_the_cache_and_the_cache_before_the_home(home, lives_at, tmp_path, monkeypatch):
    home.served["/dev.jsonl"] = DEV
    lives_at(home.url)
    loaded("winogrande/dev")
    home.served.clear()
    assert loaded("winogrande/dev")[0] == [("cup", "box")]  # from the cache
    (tmp_path / "own" / "winogrande").mkdir(parents=True)
    (tmp_path / "own" / "winogrande" / "dev.jsonl").write_bytes(TRAIN)
    monkeypatch.setenv("WINOKIT_DATA", str(tmp_path / "own"))
    assert loaded("winogrande/dev")[0] == [("cup", "bag")]


def test_what_is_not_as_published_is_refused_and_not_kept(home, lives_at, empty_machine):
    home.served["/dev.jsonl"] = TRAIN
    lives_at(home.url)
    with pytest.raises(
        BadInput, match=r"dev\.jsonl is not the published file \(SHA-256 .*put the file at .*dev\.jsonl"
    ):
        load("winogrande/dev")
    assert not empty_machine.exists()


@pytest.mark.parametrize("content", [b"no archive", zipped({"elsewhere/dev.jsonl": DEV})])
def test_an_archive_without_the_part_is_refused(home, lives_at, content):
    home.served["/all.zip"] = content
    lives_at(f"{home.url}/all.zip#in")
    with pytest.raises(BadInput, match=r"not an archive that can be unpacked|no such file in the archive"):
        load("winogrande/dev")


def test_offline_one_line_says_what_to_put_where(lives_at, empty_machine, tmp_path):
    lives_at("http://127.0.0.1:9/all.zip#in")  # nobody listens there
    with pytest.raises(BadInput) as refused:
        load("winogrande/xl")
    said = str(refused.value)
    assert "\n" not in said
    assert said.startswith("winogrande is not on this machine, and http://127.0.0.1:9/all.zip cannot be downloaded (")
    assert said.endswith(
        f"put the file at {empty_machine / 'winogrande' / 'train_xl.jsonl'}, "
        "or set WINOKIT_DATA to a folder that has winogrande/train_xl.jsonl"
    )


def test_a_home_without_the_file_says_its_status(home, lives_at):
    lives_at(home.url)
    with pytest.raises(BadInput, match=r"cannot be downloaded \(status 404\)"):
        load("winogrande/dev")


def test_a_name_alone_means_its_default_part_and_says_so(home, lives_at):
    home.served["/dev.jsonl"] = DEV
    lives_at(home.url)
    assert "winogrande means winogrande/dev; parts: dev, xl" in load("winogrande").notes


def test_training_asks_for_the_part():
    with pytest.raises(BadInput, match="name the part to train on: winogrande/dev, winogrande/test, winogrande/xs"):
        check_part("winogrande")
    check_part("winogrande/xl")
    check_part("pdp")  # has one part only


def test_a_wrong_part_or_name_says_what_exists():
    with pytest.raises(UnknownName, match=r"No part of winogrande named 'xxl'\. Did you mean 'xl'"):
        load("winogrande/xxl")
    with pytest.raises(UnknownName, match=r"No dataset or file named 'winogrnade'\. Did you mean 'winogrande'"):
        load("winogrnade")


@pytest.mark.parametrize("name", [name for name in CATALOGUE if not CATALOGUE[name].bundled])
def test_every_dataset_has_files_with_hashes_a_home_and_a_default(name):
    entry = CATALOGUE[name]
    assert entry.home.startswith(("https://", "http://"))
    assert set(entry.default) <= set(entry.files)
    assert entry.default
    assert all(len(digest) == 64 and path.count("/") == 1 for path, digest in entry.files.values())


@pytest.mark.parametrize("name", known.dataset_names())
def test_every_name_loads_the_file_whose_hash_is_in_the_catalogue(name, real_file, monkeypatch):
    of_name = known.named_parts(name)
    if of_name is None:
        return
    entry, parts = of_name
    for part in parts:
        path, digest = entry.files[part]
        assert hashlib.sha256(real_file(path).read_bytes()).hexdigest() == digest
    monkeypatch.setenv("WINOKIT_DATA", str(real_file(entry.files[parts[0]][0]).parents[1]))
    assert load(name).card.name.startswith(name.partition("/")[0])
