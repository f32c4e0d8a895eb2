"""All checks of one or more datasets: what was found, worth a warning or only worth knowing."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from winokit.data.checks import rules as rule_book
from winokit.data.checks.contamination import find_copies
from winokit.data.checks.groups import Grouping, find_groups, with_groups
from winokit.data.checks.leaks import find_leaks
from winokit.data.checks.nearest_fact import nearest_facts
from winokit.data.checks.rules import RULES, Limits, broken_rules
from winokit.data.checks.statistics import Structure
from winokit.data.formats.source import FileRecords, Place, name_place
from winokit.errors import BadInput, Malformed, UnknownName, check_known
from winokit.methods.hunting.search import Corpus
from winokit.methods.overlap import NEAR, Match, find_matches
from winokit.problem import NO_BLANK, Dataset, Problem, grouped
from winokit.progress import Progress
from winokit.text.language import language_of, left_out
from winokit.text.words import letters

if TYPE_CHECKING:
    from winokit.data.predictions.understanding import UnderstoodPredictions

Check = Literal["records", "groups", "leaks", "duplicates", "rules", "structure", "corpus", "facts"]
NEEDED = (*(("rules", ability) for ability in rule_book.NEEDED.values()), ("structure", "structure"))
"""What a language's pack must know for a check to be whole."""
RECORDS = "records"
"""The check of a file's records: whether each is a problem, and has an answer if others have."""
CHECKS = (RECORDS, "groups", "leaks", "duplicates", "rules", "structure")
CORPUS = "corpus"
"""The check that needs a corpus, and is made whenever there is one."""
FACTS = "facts"
"""The check that needs training data, and is made whenever there is some."""
ALIKE = 0.8
"""Facts at least so similar say the same in other small words."""
KINDS = {
    "same": "duplicated problem{s}",
    "contradiction": "duplicated problem{s} with different answers",
    "near": "pair{s} of nearly identical problems",
    "twin": "pair{s} of nearly identical problems with opposite answers (twins not in one group)",
}
REPEATED = frozenset(("same", "contradiction"))
"""The kinds of matches that are one problem twice."""
READ = 100
"""Groups of a dataset whose texts the built-in model reads: each takes a fifth of a second of a core."""
COPIES = {"verbatim": "word for word", "near": "nearly", "part": "in part, ten words in a row or more"}


@dataclass(frozen=True)
class Finding:
    """One thing found. `warns` findings make `winokit check` return 1; the others are worth knowing."""

    dataset: str
    check: str
    warns: bool
    message: str
    count: int
    examples: tuple[str, ...] = field(default=(), repr=False)
    details: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def lists_all(self) -> bool:
        """Whether a person is shown all its examples: each is a record to be mended or taken out."""
        return self.check == RECORDS or bool(self.details.get("within"))

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON-ready values."""
        return asdict(self)


class Findings(list[Finding]):
    """What was found, and how many examples of each a person is shown.

    Of predictions, `understood` is what was understood of them.
    """

    def __init__(
        self, findings: Iterable[Finding], shown: int = 2, understood: "UnderstoodPredictions | None" = None
    ) -> None:
        super().__init__(findings)
        self.shown = shown
        self.understood = understood


class RowPlaces:
    """What the rows of a dataset are called: by the line of the file that they were read from, where it is known."""

    def __init__(self, dataset: Dataset, files: Sequence[FileRecords] = ()) -> None:
        placed_files = [file for file in files if file.places]
        places = grouped(
            (_text_id(name), place if len(placed_files) == 1 else f"{file.path}:{place}")
            for file in placed_files
            for name, place in file.places.items()
        )
        in_order = {name: iter(own) for name, own in places.items()}  # repetitions are numbered anew in several files
        nowhere: Iterator[Place] = iter(())
        self.places: list[Place] = [
            next(in_order.get(_text_id(problem.id), nowhere), f"row {row}") for row, problem in enumerate(dataset, 1)
        ]

    def of(self, row: int) -> Place:
        """The line of a row, or what else it is called."""
        return self.places[row]

    def name(self, row: int) -> str:
        """A row as a sentence names it."""
        return name_place(self.of(row))


def _text_id(name: str) -> str:
    """What repetitions have in common of their ids, which end in the number of their occurrence."""
    return name.partition(".")[0]


def name_both(first: Place, second: Place) -> str:
    """Two places as a sentence names them.

    >>> name_both(3, 12), name_both("row 3", "row 12"), name_both(3, "element 4")
    ('lines 3 and 12', 'rows 3 and 12', 'line 3 and element 4')
    """
    names = name_place(first), name_place(second)
    kinds = {name.split()[0] for name in names}
    numbers = [name.split()[-1] for name in names]
    is_plain = len(kinds) == 1 and all(number.isdecimal() for number in numbers)
    return f"{kinds.pop()}s {numbers[0]} and {numbers[1]}" if is_plain else f"{names[0]} and {names[1]}"


def check(
    datasets: Sequence[Dataset],
    only: Collection[str] = CHECKS,
    rules: str | None = None,
    *,
    corpus: Corpus | None = None,
    train: Sequence[Dataset] = (),
    files: Sequence[Sequence[FileRecords]] = (),
    progress: Progress | None = None,
) -> list[Finding]:
    """Check datasets, each by itself, all against each other, and against a corpus and training data where given.

    Groups that are not named yet are found first. `rules` are `universal`, or `winogrande`: those of its writing task
    too. Without a name, what a study collected is judged by the task's, anything else by those that hold everywhere.
    `files` says of each dataset where the records of its files stand, so that they are named by their lines.
    """
    if rules is not None and rules not in RULES:
        raise UnknownName("set of rules", rules, RULES)
    for name in only:
        check_known("check", name, get_args(Check))
    if CORPUS in only and corpus is None:
        raise BadInput("the check 'corpus' needs an index of one: --corpus INDEX")
    if FACTS in only and not train:
        raise BadInput("the check 'facts' needs what was trained on: --train DATA")
    findings: list[Finding] = []
    groupings = [find_groups(dataset) for dataset in datasets]
    datasets = [with_groups(dataset, found=grouping) for dataset, grouping in zip(datasets, groupings, strict=True)]
    files = files or [()] * len(datasets)
    places = [RowPlaces(dataset, own) for dataset, own in zip(datasets, files, strict=True)]
    for dataset, grouping, own, own_places in zip(datasets, groupings, files, places, strict=True):
        if RECORDS in only:
            findings += _records(dataset, own, own_places)
        if "groups" in only:
            findings += _groups(dataset, grouping, own_places)
        if "leaks" in only:
            findings += _leaks(dataset)
        if "rules" in only:
            written = all(problem.provenance.get("study") for problem in dataset)
            findings += _rules(dataset, RULES[rules or ("winogrande" if written else "universal")], own_places)
        if "structure" in only:
            findings.append(_structure(dataset))
        unjudged = [ability for check, ability in NEEDED if check in only]
        for sentence in left_out(dataset.languages, dict.fromkeys(unjudged)):
            findings.append(Finding(dataset.card.name, "language", False, sentence, 0))
    if "duplicates" in only:
        findings += _duplicates(datasets, places)
    if corpus is not None:
        for dataset, own_places in zip(datasets, places, strict=True):
            findings += _copies(dataset, corpus, own_places, progress)
    if train:
        trained = [with_groups(dataset) for dataset in train]
        for dataset, own_places in zip(datasets, places, strict=True):
            findings.append(_facts(dataset, trained, own_places, progress))
    return findings


def _records(dataset: Dataset, files: Sequence[FileRecords], places: RowPlaces) -> Iterator[Finding]:
    """Records that are no problems, and problems without an answer where others have one."""
    name = dataset.card.name
    malformed = [error for file in files for error in sorted(file.malformed, key=_line_of)]
    if malformed:
        is_one_file = len({error.file for error in malformed}) == 1
        examples = tuple(_told_malformed(error) if is_one_file else str(error) for error in malformed)
        subject = "1 record is" if len(malformed) == 1 else f"{len(malformed):,} records are"
        details = [
            {"file": error.file, "line": error.line, "field": error.field, "expected": error.expected}
            for error in malformed
        ]
        yield Finding(name, RECORDS, True, f"{subject} malformed", len(malformed), examples, {"records": details})
    rows = [row for row, problem in enumerate(dataset) if problem.answer is None]
    if 0 < len(rows) < len(dataset):
        subject = "1 problem has" if len(rows) == 1 else f"{len(rows):,} problems have"
        message = f"{subject} no answer, and {len(dataset) - len(rows):,} have one"
        examples = tuple(f"{places.name(row)}: {dataset[row].text}" for row in rows)
        yield Finding(name, RECORDS, True, message, len(rows), examples, {"rows": rows})


def _line_of(error: Malformed) -> int:
    return error.line if isinstance(error.line, int) else 0


def _told_malformed(error: Malformed) -> str:
    """What is wrong with a record, after its place."""
    what = str(Malformed(error.expected, field=error.field))
    return what if error.line is None else f"{name_place(error.line)}: {what}"


def _groups(dataset: Dataset, grouping: Grouping, places: RowPlaces) -> Iterator[Finding]:
    name = dataset.card.name
    ambiguous = grouping.ambiguous
    sizes = Counter(map(len, grouping.groups))
    single = len(dataset) - sum(size * count for size, count in sizes.items())
    shape = ", ".join(f"{count:,} {_size_name(size, count)}" for size, count in sorted(sizes.items())) or "none"
    evidence = ", ".join(f"{count:,} by {how}" for how, count in grouping.evidence.items() if count)
    message = f"groups: {shape}{f' ({evidence})' if evidence else ''}; {single:,} single problems"
    yield Finding(name, "groups", False, message, len(grouping.groups), details={"evidence": grouping.evidence})
    if ambiguous:
        pairs = [(row, others[0]) for row, others in ambiguous.items() if row < others[0]]
        examples = tuple(_side_by_side((dataset, first, places), (dataset, other, places)) for first, other in pairs)
        message = f"{len(ambiguous):,} problems may be twins of others; their texts do not decide it"
        rows = [(row, *others) for row, others in ambiguous.items()]
        yield Finding(name, "groups", True, message, len(ambiguous), examples, {"rows": rows})


def _size_name(size: int, count: int) -> str:
    name = {2: "pair", 3: "triplet"}.get(size)
    return f"groups of {size}" if name is None else name if count == 1 else f"{name}s"


def _side_by_side(first: tuple[Dataset, int, RowPlaces], second: tuple[Dataset, int, RowPlaces]) -> str:
    """An example of two problems, each given as its dataset, its row and where rows are."""
    one, row, places = first
    other, other_row, other_places = second
    both = name_both(places.of(row), other_places.of(other_row))
    return f"{both}: {one[row].text} / {other[other_row].text}"


def _leaks(dataset: Dataset) -> Iterator[Finding]:
    name = dataset.card.name
    tests = find_leaks(dataset)
    if not tests:
        yield Finding(name, "leaks", False, "no answers to test for leaks", 0)
        return
    for leak in tests:
        if leak.found:
            p = "< 0.0001" if leak.p_corrected < 0.0001 else f"= {leak.p_corrected:.4f}"
            odds = f"{100 * leak.right / leak.n:.1f} %, chance {100 * leak.chance:.0f} %, p {p}"
            message = f"{leak.name}: {leak.says} in {leak.right:,} of {leak.n:,} ({odds})"
            yield Finding(name, "leaks", True, message, leak.right, details=asdict(leak))
    quiet = sum(not leak.found for leak in tests)
    leaks = len(tests) - quiet
    message = f"{len(tests)} leak tests, {leaks or 'no'} {'leak' if leaks < 2 else 'leaks'} found"
    yield Finding(name, "leaks", False, message, quiet)


def _rules(dataset: Dataset, limits: Limits | None, places: RowPlaces) -> Iterator[Finding]:
    """Broken rules, each a finding; what only a writer can tell is worth knowing and no warning."""
    members = grouped((f"row {row}" if p.group is None else p.group, row) for row, p in enumerate(dataset))
    is_read = set(list(members)[:: -(-len(members) // READ) or 1]) if limits else set()
    broken = grouped(
        (violation.rule, violation)
        for group, rows in members.items()
        for violation in broken_rules([dataset[row] for row in rows], rows, limits, read=group in is_read)
    )
    for rule, violations in broken.items():
        is_soft = rule in rule_book.SOFT
        count = f"{len(violations):,}"
        message = f"rule {rule}: broken {count} {'time' if len(violations) == 1 else 'times'}"
        if is_soft:
            read = f", of {len(is_read):,} that were read" if rule in rule_book.READ_FOR else ""
            message = f"rule {rule}: doubtful in {count}{read}"
        examples = tuple(f"{places.name(v.rows[-1])}: {v.reason}: {dataset[v.rows[-1]].text}" for v in violations)
        details = {"rows": [violation.rows for violation in violations]}
        yield Finding(dataset.card.name, "rules", not is_soft, message, len(violations), examples, details)
    whole = sum(problem.is_whole for problem in dataset)
    if whole:
        subject = "1 problem is" if whole == 1 else f"{whole:,} problems are"
        message = f"{subject} whole texts, which the rules for twins do not cover"
        yield Finding(dataset.card.name, "rules", False, message, whole)


def _structure(dataset: Dataset) -> Finding:
    seen = Structure(dataset)
    if not seen.problems:
        return Finding(dataset.card.name, "structure", False, f"no structure to describe: {NO_BLANK}", 0)
    places = ", ".join(
        f"{place} {100 * count / seen.problems:.0f} %" for place, count in seen.blank_position.most_common()
    )
    messages = [f"position of the blank: {places}"]
    if seen.judged:
        shares = ", ".join(
            f"{word} {100 * count / seen.judged:.0f} %" for word, count in seen.connective.most_common(4)
        )
        messages.insert(0, f"before the blank: {shares}")
    if seen.groups:
        share = seen.special_last / seen.groups
        groups = f"{seen.special_last:,} of {seen.groups:,} groups ({100 * share:.0f} %)"
        messages.insert(0, f"the special word is the last word in {groups}")
    details = {
        "special_last": seen.special_last,
        "groups": seen.groups,
        "connective": dict(seen.connective.most_common()),
        "clauses": dict(sorted(seen.clauses.items())),
        "blank_position": dict(seen.blank_position),
    }
    return Finding(dataset.card.name, "structure", False, "; ".join(messages), seen.special_last, details=details)


def _duplicates(datasets: Sequence[Dataset], places: Sequence[RowPlaces]) -> Iterator[Finding]:
    by_place = grouped(
        ((match.kind, match.first[0], match.second[0]), (match.first[1], match.second[1]))
        for match in find_duplicates(datasets)
    )
    for (kind, place, other_place), rows in by_place.items():
        first = datasets[place]
        second = datasets[other_place]
        where = first.card.name if place == other_place else f"{first.card.name} and {second.card.name}"
        message = f"{len(rows):,} {KINDS[kind].format(s='' if len(rows) == 1 else 's')}"
        examples = []
        for row, other in rows:
            one = (first, row, places[place])
            examples.append(_side_by_side(one, (second, other, places[other_place])))
        details: dict[str, Any] = {"kind": kind, "rows": rows}
        if place == other_place and kind in REPEATED:
            details["within"] = True
        yield Finding(where, "duplicates", True, message, len(rows), tuple(examples), details)


def find_duplicates(datasets: Sequence[Dataset]) -> list[Match]:
    """All repetitions within and across datasets, in order of place; `kind` is same, contradiction, near or twin.

    They are what `overlap` finds, without those by design. Within one file the twins of a group, judgements about one
    text and the sentences of one template are nearly the same by design, and one sentence may be asked about twice;
    none of it counts. Nor do possible twins there whose texts are not near: `find_groups` has looked at those.

    Parameters
    ----------
    datasets
        One or several; each is compared with itself and with the others.

    Returns
    -------
    list of Match
        Two places each, as (dataset, row), and what the problems are to each other.

    Raises
    ------
    TypeError
        A single `Dataset` was given: put it into a list.
    """
    duplicates = []
    for match in find_matches(datasets, within=True):
        kind = _kind(match, *(datasets[at][row] for at, row in (match.first, match.second)))
        if kind is not None:
            duplicates.append(replace(match, kind=kind))
    return duplicates


def _kind(match: Match, a: Problem, b: Problem) -> str | None:
    """What two problems are to each other, contradictions told apart; None for what is so by design."""
    bare = language_of(a.language).bare
    same_candidates = sorted(map(bare, a.candidates)) == sorted(map(bare, b.candidates))
    if match.kind == "same" and a.query == b.query and same_candidates:
        differ = a.right is not None and b.right is not None and bare(a.right) != bare(b.right)
        return "contradiction" if differ else "same"
    if a.is_continuation and not a.is_whole and not same_candidates:
        return None  # COPA: short premises alike, with other things to choose from
    if match.across:
        return match.kind
    of_one = a.query is not None or (a.labels.get("occupation") or a) == b.labels.get("occupation")
    by_design = (a.group is not None and a.group == b.group) or match.similarity < NEAR or of_one
    return None if by_design or letters(a.sentence) == letters(b.sentence) else match.kind


def _copies(dataset: Dataset, corpus: Corpus, places: RowPlaces, progress: Progress | None) -> list[Finding]:
    """What of a dataset stands in a corpus."""
    name = dataset.card.name
    findings = []
    by_kind = grouped((copy.kind, copy) for copy in find_copies(dataset, corpus, progress))
    for kind in (kind for kind in COPIES if kind in by_kind):
        copies = by_kind[kind]
        subject = "1 problem appears" if len(copies) == 1 else f"{len(copies):,} problems appear"
        examples = tuple(f"{places.name(copy.row)}: {dataset[copy.row].text} / {copy.sentence}" for copy in copies)
        details = {"kind": kind, "corpus": corpus.name, "rows": [copy.row for copy in copies]}
        message = f"{subject} {COPIES[kind]} in {corpus.name}"
        findings.append(Finding(name, CORPUS, True, message, len(copies), examples, details))
    return findings or [Finding(name, CORPUS, False, f"no problem appears in {corpus.name}", 0)]


def _facts(dataset: Dataset, trained: Sequence[Dataset], places: RowPlaces, progress: Progress | None) -> Finding:
    """What each problem asks one to know, beside the nearest thing that training says: the most similar first."""
    facts = nearest_facts(dataset, trained, progress)
    alike = sum(fact.similarity >= ALIKE for fact in facts)
    pairs = sum(fact.shares_pair for fact in facts)
    mean = sum(fact.similarity for fact in facts) / max(len(facts), 1)
    message = (
        f"training data nearly states the fact behind {alike:,} of {len(facts):,} problems (similarity ≥ {ALIKE}; mean "
        f"{mean:.2f}), and contains a (special word, candidate) pair of {pairs:,}"
    )
    nearest = sorted(facts, key=lambda fact: (-fact.similarity, fact.row))
    examples = tuple(
        f"{places.name(fact.row)}: {fact.fact} / {fact.training_fact or 'nothing'} ({fact.similarity:.2f})"
        for fact in nearest
    )
    details = {"train": [known.card.name for known in trained], "facts": [asdict(fact) for fact in facts]}
    return Finding(dataset.card.name, FACTS, False, message, alike, examples, details)
