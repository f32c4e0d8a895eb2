"""A model on a cluster of real nodes answers as on one machine, even if a node is killed."""

import hashlib
import os
import sys
import time
from collections import Counter

import numpy as np
import pytest
from support.waiting import HANGS

import winokit
from winokit.errors import BadInput, MissingExtra
from winokit.methods.cluster import ClusterSettings
from winokit.methods.scoring.cache import Cache, answer_all
from winokit.methods.scoring.ray_model import SMALLEST, ClusterModel, Shard, load_on, weight_bytes
from winokit.models.base import Continuation, Piece
from winokit.models.ensemble import EnsembleModel
from winokit.models.registry import Spec
from winokit.progress import telling

ray = pytest.importorskip("ray", reason="the extra [ray] is not installed")
from ray.cluster_utils import Cluster

# Ray leaves sockets and processes to be closed when the interpreter ends.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
ON_RAY = ClusterSettings(engine="ray", cores_each=1)
DEADLY = "deadly"


class Writer:
    """Takes its time over each text, writes down that it has read it, and dies of one."""

    spec = "writer"
    kind = "causal"
    can = frozenset({Continuation})

    def __init__(self, diary, seconds=0.0):
        self.diary = diary
        self.seconds = seconds
        self.fingerprint = "writer"

    def answer(self, requests):
        for index, request in enumerate(requests):
            with self.diary.open("a") as diary:
                diary.write(f"{request.text}\n")
            if request.text == DEADLY:
                os._exit(1)
            time.sleep(self.seconds)
            yield index, value(request)


def value(request):
    return (Piece(0, 1, -float(hashlib.blake2b(request.text.encode(), digest_size=2).digest()[0])),)


def texts(count):
    return [Continuation("a", f"text {index}") for index in range(count)]


def count_readings(diary):
    """Number of times that each text was read."""
    return Counter(diary.read_text().splitlines())


def answers_to(requests):
    return {request: value(request) for request in requests}


@pytest.fixture(scope="module")
def cluster():
    """A head that does no work and two machines of a core each."""
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        nodes.add_node(num_cpus=1, memory=500_000_000, wait=False)
    ray.init(address=nodes.address, logging_level="ERROR", log_to_driver=False)
    nodes.wait_for_nodes(timeout=HANGS)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


@pytest.fixture(scope="module")
def builtin(cluster):
    """The built-in model on it."""
    model = load_on("builtin", ON_RAY)
    yield model
    model.close()


def test_scores_are_those_of_one_machine(builtin, twins):
    rows_here = winokit.score(twins, "builtin", cache="off")
    rows_there = winokit.score(twins, builtin, cache="off")
    for here, there in zip(rows_here, rows_there, strict=True):
        assert there.prediction == here.prediction
        assert there.scores == pytest.approx(here.scores, abs=1e-5)


def test_an_audit_runs_there_when_it_is_told_to(cluster, builtin, twins):
    builtin.close()  # it starts again when it is asked
    run = winokit.audit(twins, "builtin", cache="off", protocol="accuracy", **vars(ON_RAY))
    assert run.find("accuracy", "all", "accuracy").n == 6
    assert run.settings["models"] == {"builtin": winokit.load_model("builtin").fingerprint}


def test_vectors_are_those_of_one_machine(builtin, twins):
    vectors_here = winokit.embed(twins, "builtin", cache="off").rows
    vectors_there = winokit.embed(twins, builtin, cache="off").rows
    assert np.abs(vectors_here - vectors_there).max() < 1e-5


def predictions_of(cell):
    return [row.prediction for row in cell.run.predictions]


def test_a_suite_loads_a_model_once_there_for_all_its_datasets(cluster, builtin, twins, monkeypatch):
    builtin.close()
    closed_models = []
    close = ClusterModel.close

    def record_close(model):
        closed_models.append(model)
        close(model)

    monkeypatch.setattr(ClusterModel, "close", record_close)
    options = {"data": [twins, winokit.load("synthetic-4")], "protocol": "accuracy", "cache": "off"}
    here = winokit.suite(model=["builtin"], **options)
    there = winokit.suite(model=["builtin"], **options, **vars(ON_RAY))
    assert [cell.state for cell in there.cells] == ["done", "done"]
    assert len(closed_models) == 1
    for cell_here, cell_there in zip(here.cells, there.cells, strict=True):
        assert predictions_of(cell_here) == predictions_of(cell_there)


def test_a_machine_that_dies_costs_its_shard_and_nothing_else(cluster, tmp_path):
    diary = tmp_path / "diary"
    requests = texts(240)
    model = load_on(Writer(diary, 0.04), ON_RAY)
    killed_nodes = []

    def replace_node(done, total):
        if done > total / 3 and not killed_nodes:
            node = next(iter(cluster.worker_nodes))
            killed_nodes.append(node)
            cluster.remove_node(node, allow_graceful=False)
            cluster.add_node(num_cpus=1)

    answers = answer_all(model, requests, Cache(), replace_node)
    texts_read_twice = [text for text, times in count_readings(diary).items() if times > 1]
    assert killed_nodes
    assert answers == answers_to(requests)
    assert len(texts_read_twice) <= SMALLEST
    model.close()


def test_a_text_that_kills_whoever_reads_it_is_named_and_the_others_are_kept(cluster, tmp_path):
    requests = [*texts(20), Continuation("a", DEADLY), *texts(60)[20:]]
    model = load_on(Writer(tmp_path / "diary"), ON_RAY)
    with Cache(tmp_path / "answers.sqlite") as cache:
        with pytest.raises(BadInput, match=r"writer: 3 copies died of Continuation\(context='a', text='deadly'\) \("):
            answer_all(model, requests, cache)
        answers = answer_all(Writer(tmp_path / "again"), texts(20), cache)
    assert count_readings(tmp_path / "diary")[DEADLY] == 3
    assert len(answers) == 20
    model.close()


def test_who_stops_keeps_what_was_scored(cluster, tmp_path):
    requests = texts(96)

    def stop_halfway(done, total):
        if done > total / 2:
            raise KeyboardInterrupt

    with Cache(tmp_path / "answers.sqlite") as cache:
        with pytest.raises(KeyboardInterrupt):
            # No name for the model: its copies go, and give back their cores, with the last reference.
            answer_all(load_on(Writer(tmp_path / "first"), ON_RAY), requests, cache, stop_halfway)
        model = load_on(Writer(tmp_path / "second"), ON_RAY)
        assert answer_all(model, requests, cache) == answers_to(requests)
        model.close()
    assert 0 < len(count_readings(tmp_path / "second")) <= len(requests) / 2


def test_the_members_of_an_ensemble_take_turns(cluster, builtin, tmp_path):
    builtin.close()
    ensemble = EnsembleModel("both", [Writer(tmp_path / name) for name in "ab"])
    ensemble_there = load_on(ensemble, ON_RAY)
    requests = texts(2 * SMALLEST)  # enough for either member to take both machines
    answers = answer_all(ensemble, requests, Cache())
    assert answer_all(ensemble_there, requests, Cache()) == answers
    assert [member.fingerprint for member in ensemble_there.members] == ["writer"] * 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"memory_each": 64.0}, "builtin: no machine of the cluster has room for a copy: cores 1, GPUs 0, memory 64"),
        (
            {"cores_each": 32},
            "cores 32, GPUs 0, memory 0.0 GB; see cores_each, gpus_each and memory_each in .cluster. of winokit.toml",
        ),
        ({"gpus_each": 1}, "cores 1, GPUs 1, memory"),
    ],
)
def test_what_no_machine_has_room_for_is_refused(cluster, settings, message):
    with pytest.raises(BadInput, match=message):
        load_on("builtin", ClusterSettings(engine="ray", **settings))


def test_what_a_copy_refuses_is_said_in_a_line(cluster):
    with pytest.raises(BadInput, match="builtin: expected nothing after the colon, found 'x'"):
        load_on("builtin:x", ON_RAY)
    with pytest.raises(BadInput, match="builtin: cannot be sent to other machines; name the model by its SPEC"):
        load_on(winokit.load_model("builtin"), ON_RAY)


def test_a_server_is_asked_from_here():
    notes = []
    with telling(notes.append):
        model = load_on("chat:tiny@http://localhost:9/v1", ON_RAY)
    assert not isinstance(model, ClusterModel)
    assert notes == ["chat:tiny: a server, queried from this machine, not from the cluster"]


@pytest.mark.parametrize("setting", [{"address": "head:6379"}, {"cores_each": 2}, {"memory_each": 1.0}])
def test_options_of_ray_need_ray(setting):
    (name,) = setting
    with pytest.raises(BadInput, match=f"--set {name}: a setting of --engine ray"):
        ClusterSettings(**setting)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:port"])
def test_an_address_where_nobody_answers_is_refused_at_once(monkeypatch, address):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(BadInput, match=f"no Ray cluster answers at {address} \\("):
        load_on("builtin", ClusterSettings(engine="ray", address=address))


def test_a_missing_extra_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"scoring on Ray needs the 'ray' extra: pip install 'winokit\[ray\]'"):
        load_on("builtin", ON_RAY)


def test_a_shard_comes_down_to_single_texts_by_its_third_try():
    second_tries = Shard(range(256)).pieces()
    third_tries = second_tries[1].pieces()
    assert [len(shard.places) for shard in second_tries] == [16] * 16
    assert [list(shard.places) for shard in third_tries] == [[place] for place in range(16, 32)]
    assert third_tries[0].tries == 2


def test_the_size_of_a_model_is_that_of_its_files(tmp_path):
    sizes = {"a.safetensors": 300, "b.safetensors": 200, "old.bin": 9, "x.gguf": 70}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(bytes(size))
    assert weight_bytes(Spec("hf", str(tmp_path))) == 500
    assert weight_bytes(Spec("hf", str(tmp_path), {"gguf_file": "x.gguf"})) == 70
    assert weight_bytes(Spec("gguf", str(tmp_path / "x.gguf"))) == 70


def test_a_model_without_files_has_no_size():
    assert weight_bytes(Spec("hf", "nobody/has-this")) == 0
    assert weight_bytes(Spec("builtin", "")) == 0
