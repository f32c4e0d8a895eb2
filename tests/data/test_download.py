"""Public datasets are found by name: in $WINOKIT_DATA, in the cache, or at their home, here a server of our own."""

import hashlib
import io
import tarfile
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.json_rows import json_lines

from winokit.data import known
from winokit.data.known import CATALOGUE
from winokit.data.loading import check_part, load
from winokit.errors import BadInput, UnknownName
from winokit.progress import telling

ROW = {"qID": "A-1", "sentence": "The cup did not fit the box since the _ was big.", "answer": "1"}
DEV_ROW = ROW | {"option1": "cup", "option2": "box"}
TRAIN_ROW = ROW | {"option1": "cup", "option2": "bag", "qID": "B-1"}
TRAIN_ROW["sentence"] = ROW["sentence"].replace("box", "bag")
DEV = json_lines([DEV_ROW]).encode()
TRAIN = json_lines([TRAIN_ROW]).encode()


def pack_zip(files):
    """Content of a zip archive of these files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def pack_tar(files):
    """Content of a compressed tar archive of these files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@pytest.fixture
def home():
    """Server whose `served` has the content of each path, or where it moved, and whose `asked` lists the requests."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            urls.append(self.path)
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
    urls = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.served = served
        server.asked = urls
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(autouse=True)
def empty_machine(tmp_path, monkeypatch):
    """Folder of downloads on a machine with neither a folder of datasets nor a cache."""
    monkeypatch.delenv("WINOKIT_DATA", raising=False)
    monkeypatch.setenv("WINOKIT_CACHE", str(tmp_path / "cache" / "answers.sqlite"))
    return tmp_path / "cache" / "datasets"


@pytest.fixture
def move_home(monkeypatch):
    """Function that gives the catalogue's winogrande another home, and the hashes of our two files."""

    def move(home, **changes):
        dev_hash = hashlib.sha256(DEV).hexdigest()
        train_hash = hashlib.sha256(TRAIN).hexdigest()
        files = {
            "dev": ("winogrande/dev.jsonl", dev_hash),
            "xl": ("winogrande/train_xl.jsonl", train_hash),
        }
        changed_entry = replace(CATALOGUE["winogrande"], home=home, files=files, **changes)
        monkeypatch.setitem(CATALOGUE, "winogrande", changed_entry)

    return move


def load_candidates(name):
    """Load a dataset and return the candidates of its problems, and the messages."""
    messages = []
    with telling(messages.append):
        dataset = load(name)
    return [problem.candidates for problem in dataset], messages


@pytest.mark.parametrize(("pack", "file"), [(pack_zip, "all.zip"), (pack_tar, "all.tgz")])
def test_an_archive_is_downloaded_once_for_all_its_parts(home, move_home, empty_machine, pack, file):
    files = {"in/dev.jsonl": DEV, "in/train_xl.jsonl": TRAIN, "in/other": b"-"}
    home.served[f"/{file}"] = pack(files)
    move_home(f"{home.url}/{file}#in")
    assert load_candidates("winogrande/dev")[0] == [("cup", "box")]
    assert load_candidates("winogrande/xl")[0] == [("cup", "bag")]
    assert home.asked == [f"/{file}"]
    file_names = sorted(path.name for path in empty_machine.rglob("*.*"))
    assert file_names == ["dev.jsonl", "train_xl.jsonl"]


def test_a_file_is_downloaded_by_itself_and_through_redirects(home, move_home):
    home.served |= {"/moved/dev.jsonl": DEV, "/dev.jsonl": "/moved/dev.jsonl"}
    move_home(home.url)
    assert load_candidates("winogrande")[0] == [("cup", "box")]
    assert home.asked == ["/dev.jsonl", "/moved/dev.jsonl"]


def test_the_licence_is_shown_once(home, move_home):
    home.served["/dev.jsonl"] = DEV
    move_home(home.url)
    _, messages = load_candidates("winogrande/dev")
    assert any("licence: CC BY" in line and "Sakaguchi" in line for line in messages)
    _, messages_again = load_candidates("winogrande/dev")
    assert messages_again == []


def test_one_s_own_folder_comes_before_the_cache_and_the_cache_before_the_home(home, move_home, tmp_path, monkeypatch):
    home.served["/dev.jsonl"] = DEV
    move_home(home.url)
    load_candidates("winogrande/dev")
    home.served.clear()
    assert load_candidates("winogrande/dev")[0] == [("cup", "box")]  # from the cache
    (tmp_path / "own" / "winogrande").mkdir(parents=True)
    (tmp_path / "own" / "winogrande" / "dev.jsonl").write_bytes(TRAIN)
    monkeypatch.setenv("WINOKIT_DATA", str(tmp_path / "own"))
    assert load_candidates("winogrande/dev")[0] == [("cup", "bag")]


def test_what_is_not_as_published_is_refused_and_not_kept(home, move_home, empty_machine):
    home.served["/dev.jsonl"] = TRAIN
    move_home(home.url)
    reason = r"dev\.jsonl is not the published file \(SHA-256 .*put the file at .*dev\.jsonl"
    with pytest.raises(BadInput, match=reason):
        load("winogrande/dev")
    assert not empty_machine.exists()


@pytest.mark.parametrize("content", [b"no archive", pack_zip({"elsewhere/dev.jsonl": DEV})])
def test_an_archive_without_the_part_is_refused(home, move_home, content):
    home.served["/all.zip"] = content
    move_home(f"{home.url}/all.zip#in")
    with pytest.raises(BadInput, match=r"not an archive that can be unpacked|no such file in the archive"):
        load("winogrande/dev")


def test_offline_one_line_says_what_to_put_where(move_home, empty_machine, tmp_path):
    move_home("http://127.0.0.1:9/all.zip#in")  # nobody listens there
    with pytest.raises(BadInput) as refused:
        load("winogrande/xl")
    message = str(refused.value)
    beginning = "winogrande is not on this machine, and http://127.0.0.1:9/all.zip cannot be downloaded ("
    path = empty_machine / "winogrande" / "train_xl.jsonl"
    folder_advice = "or set WINOKIT_DATA to a folder that has winogrande/train_xl.jsonl"
    assert "\n" not in message
    assert message.startswith(beginning)
    assert message.endswith(f"put the file at {path}, {folder_advice}")


def test_a_home_without_the_file_says_its_status(home, move_home):
    move_home(home.url)
    with pytest.raises(BadInput, match=r"cannot be downloaded \(status 404\)"):
        load("winogrande/dev")


def test_a_name_alone_means_its_default_part_and_says_so(home, move_home):
    home.served["/dev.jsonl"] = DEV
    move_home(home.url)
    dataset = load("winogrande")
    assert "winogrande means winogrande/dev; parts: dev, xl" in dataset.notes


def test_training_asks_for_the_part():
    with pytest.raises(BadInput, match="name the part to train on: winogrande/dev, winogrande/test, winogrande/xs"):
        check_part("winogrande")
    check_part("winogrande/xl")
    check_part("pdp")  # has one part only


def test_a_wrong_part_or_name_says_what_exists():
    with pytest.raises(UnknownName, match=r"No part of winogrande named 'xxl'\. Did you mean 'xl'"):
        load("winogrande/xxl")
    reason = r"No file or part of winogrande named 'dev\.jsonl'\. Did you mean winogrande/dev\?"
    with pytest.raises(UnknownName, match=reason):
        load("winogrande/dev.jsonl")
    with pytest.raises(UnknownName, match=r"No part of xwinograd named 'jp'\. Did you mean xwinograd\?"):
        load("xwinograd/jp")
    with pytest.raises(UnknownName, match=r"No dataset or file named 'winogrnade'\. Did you mean 'winogrande'"):
        load("winogrnade")


@pytest.mark.parametrize("name", [name for name in CATALOGUE if not CATALOGUE[name].bundled])
def test_every_dataset_has_files_with_hashes_a_home_and_a_default(name):
    entry = CATALOGUE[name]
    assert entry.home.startswith(("https://", "http://"))
    assert set(entry.default) <= set(entry.files)
    assert entry.default
    for path, digest in entry.files.values():
        assert len(digest) == 64
        assert path.count("/") == 1


@pytest.mark.parametrize("name", known.dataset_names())
def test_every_name_loads_the_file_whose_hash_is_in_the_catalogue(name, real_file, monkeypatch):
    entry_and_parts = known.named_parts(name)
    if entry_and_parts is None:
        return
    entry, parts = entry_and_parts
    for part in parts:
        path, digest = entry.files[part]
        assert hashlib.sha256(real_file(path).read_bytes()).hexdigest() == digest
    data_path = real_file(entry.files[parts[0]][0])
    monkeypatch.setenv("WINOKIT_DATA", str(data_path.parents[1]))
    assert load(name).card.name.startswith(name.partition("/")[0])
