"""From filtered twins to a folder that others can use, every file written whole, the manifest last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from winokit.data.checks.leaks import Leak
from winokit.data.runs import Run
from winokit.errors import BadInput
from winokit.files import write_whole
from winokit.problem import Card, Dataset, collector_off
from winokit.stages.release.assembly import about_release, assembled
from winokit.stages.release.card import CardFacts
from winokit.stages.release.contents import ReleaseContents, fill
from winokit.stages.release.crossing import Crossing, crossings, found_leaks
from winokit.stages.release.draws import Draws, chosen_secret
from winokit.stages.release.hidden import COMMITMENT, LABELS, hidden_folder, label_lines, labels_of, write_hidden
from winokit.stages.release.inputs import ReleaseInputs, read_inputs
from winokit.stages.release.licences import NOT_STATED
from winokit.stages.release.lineage import ADDED, LINEAGE, Row, lineage_row, write_lineage
from winokit.stages.release.manifest import MANIFEST, read_manifest, write_manifest
from winokit.stages.release.provenance import STUDY, audited, debias_facts, problem_facts, study_facts
from winokit.stages.release.reading import DEBIASED, DEV, TEST
from winokit.stages.release.settings import NAME, ReleaseSettings
from winokit.stages.release.splits import TRAIN

Step = Callable[[str], None]
Lineage = Callable[[Mapping[str, str]], list[Row]]
"""From the split of each id to the rows of a lineage."""
BELONGS = ("name", "version", "content_hash", COMMITMENT)
"""What hidden answers say about the release they belong to."""


@dataclass(frozen=True)
class ReleaseExtras:
    """What else goes into a card, and where hidden answers go."""

    audits: tuple[Path, ...] = ()
    """Runs of `winokit audit`."""
    collection: Path | None = None
    """An export of `winokit collect`."""
    about: Path | None = None
    """Markdown in the authors' own words."""
    hidden: Path | None = None
    """Default: beside the release, with `.hidden` after its name."""
    secret: bytes | None = None
    """What to draw from. Default: what is with the hidden answers already, else a new one."""
    notes: tuple[str, ...] = ()
    """What the card must say besides."""


@dataclass(frozen=True)
class Release:
    """What was released."""

    folder: Path
    hidden: Path | None
    contents: ReleaseContents
    settings: ReleaseSettings
    licence: str
    crossings: tuple[Crossing, ...]
    leaks: Mapping[str, list[Leak]]
    """Of what is public; those of a hidden test are with its answers."""
    test_leaks: bool
    notes: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Problems in each file."""
        return {name: len(data) for name, data in self.contents.files.items()}


@collector_off()
def release(
    kept: str | Path | Dataset,
    out: str | Path,
    *,
    removed: str | Path | Dataset | None = None,
    settings: ReleaseSettings | None = None,
    extras: ReleaseExtras | None = None,
    as_: str | None = None,
    lenient: bool = False,
    fixed: Mapping[str, str] | None = None,
    lineage: Lineage | None = None,
    step: Step | None = None,
) -> Release:
    """Release kept problems: dev and a hidden test of them, training sizes of kept and removed ones, card and tasks.

    Parameters
    ----------
    kept
        DATA, a dataset, or a folder of `winokit debias`, which has the removed problems too.
    out
        The folder to write. One that holds anything but an earlier release is refused.
    fixed
        Splits that an earlier release has settled (train, dev or test), by id.
    lineage
        Where problems come from, for a release that follows another. Default: all are added.
    step
        Told what begins.
    """
    folder, settings, extras, step = (
        Path(out),
        settings or ReleaseSettings(),
        extras or ReleaseExtras(),
        step or (lambda what: None),
    )
    hidden = _hidden_place(folder, extras.hidden)
    stale = _earlier_files(folder)
    step("reading")
    inputs = read_inputs(kept, removed, as_=as_, lenient=lenient)
    title, settings = settings.name or inputs.card.title, replace(settings, name=settings.name or _name_of(inputs))
    hides = bool(settings.test) or TEST in (fixed or {}).values()
    secret = Draws(release_secret(hidden, extras.secret)) if hides else None
    step("splitting")
    contents = fill(inputs, settings, fixed, secret)
    secret = secret if TEST in contents.files else None
    step("checking")
    facts = _facts(kept, inputs, contents, settings, extras, title)
    test_leaks = found_leaks(contents.files, (TEST,)).get(TEST, [])
    facts = replace(facts, test_leaks=bool(test_leaks))
    step("writing")
    files = assembled(contents, facts)
    about = about_release(contents, facts, files)
    labels = label_lines([{"id": p.id, "answer": p.answer, "group": p.group} for p in contents.files.get(TEST, ())])
    if secret is not None:
        about[COMMITMENT] = secret.commitment(labels)
    belongs = {key: about[key] for key in BELONGS if key in about}
    if secret is not None:
        _check_hidden(hidden, belongs, folder)
    for name, data in files.items():
        write_whole(folder / name, data)
    write_lineage(folder / LINEAGE, (lineage or first_lineage(settings.version))(contents.where))
    for name in stale - {*files, LINEAGE, MANIFEST}:
        (folder / name).unlink(missing_ok=True)
    if secret is not None:
        write_hidden(hidden, belongs, labels, secret.key, _hidden_checks(contents.files[TEST], test_leaks, facts))
    write_manifest(folder, about)
    return Release(
        folder,
        hidden if secret is not None else None,
        contents,
        settings,
        facts.licence,
        tuple(facts.crossings),
        {name: list(leaks) for name, leaks in facts.leaks.items()},
        facts.test_leaks,
        (*inputs.notes, *contents.notes),
    )


def _hidden_place(folder: Path, asked: Path | None) -> Path:
    """Where hidden answers go: never into the folder that is given away."""
    place = asked or hidden_folder(folder)
    if place.resolve() == folder.resolve() or folder.resolve() in place.resolve().parents:
        raise BadInput(f"{place}: hidden answers inside the release would be published with it")
    if place.exists() and not place.is_dir():
        raise BadInput(f"{place}: a file; hidden answers go into a folder: --hidden")
    return place


def release_secret(place: Path, given: bytes | None) -> bytes:
    """The secret of a release whose hidden answers go to a place."""
    return chosen_secret(place, given, has_one=(place / LABELS).is_file() and COMMITMENT in labels_of(place))


def _hidden_checks(test: Dataset, leaks: Sequence[Leak], facts: CardFacts) -> dict[str, object]:
    """What the card may not say: everything that was found on the test with its answers."""
    return {
        "leaks": [asdict(leak) for leak in leaks],
        "first_candidate_is_the_answer": sum(problem.answer == 0 for problem in test) / len(test),
        "audits": [asdict(audit) for audit in facts.audits if audit.shared.get(TEST)],
    }


def _check_hidden(place: Path, belongs: Mapping[str, object], folder: Path) -> None:
    """Refuse to write hidden answers over those of another release, which nobody could grade any more.

    Those of the release that is replaced go with it, and those of the very same one are written anew.
    """
    if not place.exists() or not any(place.iterdir()):
        return
    said = labels_of(place)
    replaced = read_manifest(folder) if (folder / MANIFEST).is_file() else {}
    if not any(all(said.get(key) == one.get(key) for key in BELONGS) for one in (belongs, replaced)):
        whose = f"{said.get('name')} {said.get('version')}"
        raise BadInput(f"{place}: has the answers of another release ({whose}); remove it, or choose another --hidden")


def _earlier_files(folder: Path) -> set[str]:
    """The files of an earlier release in the same place; refuses a folder of anything else."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: a file; a folder is to be written there")
    if not folder.exists() or not any(folder.iterdir()):
        return set()
    try:
        return set(read_manifest(folder)["files"])
    except BadInput:
        raise BadInput(f"{folder}: not empty, and no release of winokit; choose another --out") from None


def _name_of(inputs: ReleaseInputs) -> str:
    name = inputs.card.file_name
    if not NAME.fullmatch(name):
        raise BadInput(f"the problems are called {inputs.card.name!r}; give the release a --name")
    return name


def _facts(
    kept: str | Path | Dataset,
    inputs: ReleaseInputs,
    contents: ReleaseContents,
    settings: ReleaseSettings,
    extras: ReleaseExtras,
    title: str,
) -> CardFacts:
    """What the card says: checks of the finished splits, and all that is known about where problems come from.

    Of the test it sees what is public: whether a text nearly repeats another *with the other answer* is an answer.
    """
    sides = {TRAIN: contents.training, DEV: contents.files[DEV]}
    if TEST in contents.files:
        bare = contents.files[TEST]
        sides[TEST] = bare.with_problems(problem.replace(answer=None) for problem in bare)
    ids = {name: frozenset(problem.id for problem in data) for name, data in sides.items()}
    return CardFacts(
        settings,
        settings.licence or inputs.card.licence or NOT_STATED,
        title or str(settings.name),
        _made_from(inputs.card),
        crossings(sides),
        found_leaks(contents.files, (DEBIASED, DEV)),
        _collection(kept, extras.collection, inputs),
        debias_facts(inputs.debias) if inputs.debias else (),
        [found for run in extras.audits for found in audited(Run.load(run), ids)],
        _text(extras.about) if extras.about else "",
        notes=extras.notes,
    )


def _made_from(card: Card) -> str:
    """What the problems were before they were released."""
    return ", ".join(part for part in (card.title or card.name, card.version, card.source) if part)


def _collection(kept: str | Path | Dataset, asked: Path | None, inputs: ReleaseInputs) -> list[str]:
    """What is known about how the problems were collected."""
    if asked is None and not isinstance(kept, Dataset) and Path(kept).is_file():
        beside = Path(kept).parent
        asked = beside if (beside / STUDY).is_file() else None
    return [*(study_facts(asked) if asked else ()), *problem_facts(inputs.problems.problems)]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from None


def first_lineage(version: str) -> Lineage:
    """The lineage of a first release: every problem is added."""
    why = "in the first release"
    return lambda where: [lineage_row(name, split, ADDED, why, version) for name, split in where.items()]
