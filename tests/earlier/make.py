"""Makes `files/`: what winokit 0.1.0 (commit 98bb8a2) writes, for `test_earlier_files.py` to read ever after.

Run once, with the code of that version, never by a test: later code must not write these files again.

    git worktree add ../then 98bb8a2 && PYTHONPATH=../then/src python tests/earlier/make.py
    git worktree add ../older dbaacc2 && PYTHONPATH=../older/src python tests/earlier/make.py study-0001

The second is the last commit whose studies have the tables of revision 0001. Everything is written with relative
paths, from within one folder: a run remembers the names it was given. Pages and pictures are left out, and each subject
is packed into one small archive.
"""

import gzip
import importlib.util
import io
import json
import os
import shutil
import sqlite3
import sys
import tarfile
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from typer.testing import CliRunner

import winokit
from winokit.cli.main import app

HERE = Path(__file__).parent
FILES = HERE / "files"
ARCHIVES = {
    "data": "*.jsonl X.npy X.json model",
    "audit": "audit listed labels.lst",
    "answers": "answers.sqlite answered",
    "index": "index.db corpus.txt",
    "debias": "debiased stopped-filter",
    "train": "trained stopped-training",
    "search": "search",
    "curve": "curve",
    "transfer": "transfer",
    "release": "release release.hidden submission.lst graded",
    "study-0001": "study-0001",
    "study-0002": "study-0002",
}
"""Names of the files and folders in each archive."""
SIZES = {"num_hidden_layers": 1, "num_attention_heads": 1, "hidden_size": 4, "intermediate_size": 4}
TRAINING = "--model hf:model --batch-size 4 --learning-rate 0.01"
AFLITE = (
    "debias aflite filtered.jsonl --features X.npy --ensemble-size 16 --train-size 24 --cutoff 4 --seeds 1 "
    "--null-runs 0 --no-assess --compare none --engine numpy"
)
CHAT = "chat:parrot@http://127.0.0.1:9417/v1?retries=0&concurrency=1"
CORPUS = "I could not carry him because I was tired.\n\nHe could not carry the girl because she was heavy.\n"


def run_command(line: str, *more: str) -> str:
    """Run a command line and return what it printed."""
    arguments = [*line.split(), *more]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def import_shared(place: str):
    """Import a module that tests of other folders share."""
    module_path = HERE.parent / f"{place}.py"
    spec = importlib.util.spec_from_file_location(Path(place).stem, module_path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def data() -> None:
    """Write parts of the bundled twins that have nothing in common, and features that give some answers away."""
    from winokit.scoring.features import write_features

    bundled = winokit.load("open")
    parts = {"twins": (0, 12), "train": (20, 36), "more": (36, 44), "dev": (44, 52), "test": (52, 60)}
    parts |= {"filtered": (100, 160), "released": (200, 248)}
    for name, (start, end) in parts.items():
        dataset = winokit.Dataset(bundled[start:end], winokit.Card(name))
        winokit.write(dataset, Path(f"{name}.jsonl"), "jsonl")
    filtered = winokit.load("filtered.jsonl")
    answers = np.array([problem.answer for problem in filtered])
    generator = np.random.default_rng(0)
    features = generator.normal(size=(len(filtered), 4))
    signs = 2 * answers[::3] - 1
    features[::3, 0] += 3 * signs
    single_precision = features.astype(np.float32)
    write_features(single_precision, filtered, Path("X.npy"), {"model": "planted", "features": "difference"})


def model() -> None:
    import_shared("formalizations/tiny").tiny("bert", Path("model"), **SIZES, initializer_range=0.5)


def hunting() -> None:
    Path("corpus.txt").write_text(CORPUS)
    run_command("hunt index corpus.txt --out index.db")
    start = "Nora could not carry Ines because "
    tired = winokit.Problem(start, " was tired.", ("Nora", "Ines"), 0)
    heavy = winokit.Problem(start, " was heavy.", ("Nora", "Ines"), 1)
    dataset = winokit.Dataset([tired, heavy], winokit.Card("carried"))
    winokit.write(dataset, Path("carried.jsonl"), "jsonl")


def scoring() -> None:
    """Write two audits and answers of every kind: log-probabilities of pieces, scores, features and replies."""
    scorings = "--scoring masked-candidate --scoring pseudo-likelihood"
    run_command(f"audit twins.jsonl --model hf:model {scorings} --out audit --cache off")
    Path("labels.lst").write_text("1\n2\n" * 5 + "1\n1\n")
    run_command("audit twins.jsonl --predictions labels.lst --out listed --cache off")
    few = "twins.jsonl --limit 4 --cache answers.sqlite"
    Path("answered").mkdir()
    for name in ("masked-candidate", "pseudo-likelihood"):
        run_command(f"score {few} --model hf:model --scoring {name} --out answered/{name}.jsonl")
    hunter = "hunter:index.db?parser=rules"
    run_command(f"score carried.jsonl --model {hunter} --out answered/hunter.jsonl --cache answers.sqlite")
    run_command(f"embed {few} --model hf:model --out answered/features.npy")
    chat = import_shared("models/chat_server")
    with chat.ChatServer(lambda number, body: chat.says("AB"[number % 2]), port=9417):
        run_command(f"score {few} --model {CHAT} --out answered/chat.jsonl")


def filtering() -> None:
    """Write a filtering that ran to its end, and the same stopped after two phases."""
    from winokit.debias import checkpoint

    run_command(f"{AFLITE} --out debiased")
    save_checkpoint = checkpoint.save
    phases = []

    def save(*arguments) -> None:
        save_checkpoint(*arguments)
        phases.append(arguments)
        if len(phases) == 2:
            raise KeyboardInterrupt

    checkpoint.save = save
    CliRunner().invoke(app, [*AFLITE.split(), "--out", "stopped-filter"])
    checkpoint.save = save_checkpoint


def training() -> None:
    """Write a trained model, the same stopped after four steps, and runs of many."""
    from winokit.training.learner import Learner

    train = f"train train.jsonl --dev dev.jsonl --test test.jsonl {TRAINING} --formalization mc-sent --epochs 2"
    run_command(f"{train} --checkpoint-every 2 --out trained")
    step = Learner._step

    def stopping(self: Learner) -> None:
        if self.state.step == 5:
            raise KeyboardInterrupt
        step(self)

    Learner._step = stopping
    arguments = [*train.split(), "--checkpoint-every", "2", "--out", "stopped-training"]
    CliRunner().invoke(app, arguments)
    Learner._step = step
    sets = "--dev dev.jsonl --test test.jsonl"
    run_command(f"search train.jsonl {sets} {TRAINING} --epochs 1 --trials 2 --formalization mc-mlm --out search")
    run_command(f"curve train.jsonl {sets} {TRAINING} --epochs 1 --sizes 0,8,all --restarts 2 --out curve")
    arms = "--train train.jsonl --train train.jsonl>more.jsonl --test test.jsonl --choose dev.jsonl"
    run_command(f"transfer {arms} {TRAINING} --epochs 1 --seed 1 --seed 2 --out transfer")


def releasing() -> None:
    release_options = "--name small --licence CC0-1.0 --date 2026-11-16 --dev 8 --test 12 --sizes 4,8,12,16,20"
    run_command(f"release released.jsonl --out release {release_options}")
    lines = Path("release.hidden/labels.jsonl").read_text().splitlines()
    labels = [json.loads(line)["answer"] for line in lines]
    wrong_rows = (0, 1, 6)
    for row in wrong_rows:
        labels[row] = 1 - labels[row]
    lines = [f"{label + 1}\n" for label in labels]
    Path("submission.lst").write_text("".join(lines))
    Path("graded").mkdir()
    grade_options = "--formalization mc-sent --training-data train_xl --trials 3 --out graded/submission.json"
    run_command(f"grade release submission.lst {grade_options}")


def study(name: str) -> None:
    """Write a study with two pairs of twins and six votes, by five workers."""
    from winokit.collect import submissions, tasks, workers
    from winokit.collect.config import parse_config
    from winokit.collect.study import Study

    quality = {"quiz_pass_mark": 0, "gold_share": 0}
    settings = {"quality": quality, "tasks": {"twins": 2, "votes": 3}}
    opened = Study.create(name, parse_config({"title": "Gates", **settings}))
    people = [workers.join(opened, "links") for _ in range(5)]
    for person in people:
        workers.consent(opened, person.id)
        workers.screen(opened, person.id, native_speaker=True, has_seen_wsc=False)
    form = {"candidate_1": "the terrier", "candidate_2": "the spaniel", "answer_1": "2", "answer_2": "1"}
    texts = (
        "The terrier can squeeze under the garden gate but the spaniel cannot, so we never have to fetch _ back.",
        "The terrier and the spaniel met beside the old gate before sunrise, and _ had never eaten anything there.",
    )
    for person, text in zip(people, texts, strict=False):
        task = tasks.lease(opened, person.id, "write")
        twin = {"first": text, "second": text.replace("never", "always"), "anchor": "gate"}
        submissions.submit(opened, person.id, task.token, form | twin)
    for person in people[2:]:
        for _ in range(2):
            task = tasks.lease(opened, person.id, "validate")
            choice = "1" if "never" in f"{task.before}{task.after}" else "0"
            vote = {"choice": choice, "equally_plausible": "no", "local_decides": "no"}
            submissions.submit(opened, person.id, task.token, vote)
    opened.close()


def tidy() -> None:
    """Leave out pages and pictures, shrink databases, and see that nothing names a folder of this machine."""
    for page in Path().rglob("report"):
        shutil.rmtree(page)
    for pattern in ("*.png", "*.lock", "release.hidden/lock"):
        for path in Path().glob(f"**/{pattern}"):
            path.unlink()
    for pattern in ("*.db", "*.sqlite"):
        for path in Path().rglob(pattern):
            with closing(sqlite3.connect(path, isolation_level=None)) as database:
                database.execute("PRAGMA journal_mode = DELETE")
                database.execute("VACUUM")
    for path in Path().rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        machine_folders = [name for name in (b"/work", b"/tmp", b"/root", b"/home") if name in content]
        if machine_folders:
            raise ValueError(f"{path}: names a folder of this machine")


def files_below(pattern: str) -> list[Path]:
    """Files that match a pattern, and those in matching folders, in order."""
    paths = []
    for match in Path().glob(pattern):
        paths += [match, *match.rglob("*")]
    return sorted(path for path in paths if path.is_file())


def pack(name: str) -> None:
    """Write an archive that says nothing of who made it, or when."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for pattern in ARCHIVES[name].split():
            for path in files_below(pattern):
                entry = tarfile.TarInfo(str(path))
                entry.size = path.stat().st_size
                entry.mode = path.stat().st_mode & 0o777  # secrets are their owner's
                archive.addfile(entry, io.BytesIO(path.read_bytes()))
    FILES.mkdir(exist_ok=True)
    packed = gzip.compress(out.getvalue(), mtime=0)
    (FILES / f"{name}.tar.gz").write_bytes(packed)


def main() -> None:
    os.environ["WINOKIT_DEVICE"] = "cpu"
    only = sys.argv[1:]
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        if not only:
            for make in (data, model, hunting, scoring, filtering, training, releasing):
                make()
        study(only[0] if only else "study-0002")
        tidy()
        for name in only or [name for name in ARCHIVES if name != "study-0001"]:
            pack(name)
        os.chdir(HERE)


if __name__ == "__main__":
    main()
