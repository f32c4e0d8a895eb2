"""All checks of datasets, with findings that are warnings or only notes."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from winokit.data.checks import rules as rule_book
from winokit.data.checks.contamination import find_copies
from winokit.data.checks.groups import Grouping, find_groups, with_groups
from winokit.data.checks.leaks import Leak, find_leaks
from winokit.data.checks.nearest_fact import nearest_facts
from winokit.data.checks.rules import RULES, Limits, RuleSet, Violation, broken_rules
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
"""The abilities that a language's pack needs for each check."""
RECORDS = "records"
"""The check of a file's records: whether each is a problem and has an answer if others have one."""
CHECKS = (RECORDS, "groups", "leaks", "duplicates", "rules", "structure")
CORPUS = "corpus"
"""The check that needs a corpus, and is made whenever there is one."""
FACTS = "facts"
"""The check that needs training data, and is made whenever there is some."""
ALIKE = 0.8
"""Similarity from which two facts say the same in other small words."""
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
    """One result of a check.

    `count` is the number of cases, and `details` are for JSON. Findings with `warns` make `winokit check` return 1.
    The others are only worth knowing.
    """

    dataset: str
    check: str
    warns: bool
    message: str
    count: int
    examples: tuple[str, ...] = field(default=(), repr=False)
    details: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def lists_all(self) -> bool:
        """Whether all examples are shown, and not only the first few.

        They are if each is a record that a person has to correct or remove.
        """
        return self.check == RECORDS or bool(self.details.get("within"))

    def to_json(self) -> dict[str, Any]:
        """The finding as a dict that can be written as JSON."""
        return asdict(self)


class Findings(list[Finding]):
    """A list of findings.

    `shown` is the number of examples to show of each. `understood` has what was read from files of predictions, or
    None if none were checked.
    """

    def __init__(
        self, findings: Iterable[Finding], shown: int = 2, understood: "UnderstoodPredictions | None" = None
    ) -> None:
        super().__init__(findings)
        self.shown = shown
        self.understood = understood


class RowPlaces:
    """The places of a dataset's problems in their files, for messages.

    A place is a line or the like if the files are known, otherwise "row 3".

    Parameters
    ----------
    files
        The records of the files from which the dataset was read. Empty if they are not known.
    """

    def __init__(self, dataset: Dataset, files: Sequence[FileRecords] = ()) -> None:
        placed_files = [file for file in files if file.places]
        is_one_file = len(placed_files) == 1
        named_places: list[tuple[str, Place]] = []
        for file in placed_files:
            for name, place in file.places.items():
                full_place = place if is_one_file else f"{file.path}:{place}"
                named_places.append((_remove_occurrence(name), full_place))
        # Repetitions are numbered anew in several files, so their places are taken in order.
        places_left = {name: iter(places) for name, places in grouped(named_places).items()}
        nowhere: Iterator[Place] = iter(())
        self.places: list[Place] = []
        for row, problem in enumerate(dataset, 1):
            places = places_left.get(_remove_occurrence(problem.id), nowhere)
            self.places.append(next(places, f"row {row}"))

    def of(self, row: int) -> Place:
        """The place of the problem in a row of the dataset.

        Rows count from 0, and places from 1.
        """
        return self.places[row]

    def name(self, row: int) -> str:
        """The place of a row's problem, for a sentence: "line 12".

        Rows count from 0, and places from 1.
        """
        return name_place(self.of(row))


def _remove_occurrence(name: str) -> str:
    """The id of a problem without the number of its occurrence.

    Repetitions of a problem have this part in common.
    """
    return name.partition(".")[0]


def name_two_places(first: Place, second: Place) -> str:
    """Two places in a file, for a sentence.

    >>> name_two_places(3, 12), name_two_places("row 3", "row 12"), name_two_places(3, "element 4")
    ('lines 3 and 12', 'rows 3 and 12', 'line 3 and element 4')
    """
    first_name = name_place(first)
    second_name = name_place(second)
    first_words = first_name.split()
    second_words = second_name.split()
    first_kind = first_words[0]
    first_number = first_words[-1]
    second_number = second_words[-1]
    is_same_kind = first_kind == second_words[0]
    if is_same_kind and first_number.isdecimal() and second_number.isdecimal():
        return f"{first_kind}s {first_number} and {second_number}"
    return f"{first_name} and {second_name}"


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
    """Check each dataset by itself, and all of them against each other.

    Groups are found first, for problems that do not name theirs.

    Parameters
    ----------
    only
        Names of the checks to run. Those of the corpus and of the training data run whenever these are given.
    rules
        `universal`, or `winogrande` for those of its writing task too. None takes `winogrande` for problems from
        a study and `universal` for all others.
    corpus
        A corpus in which the problems are searched. None to leave that out.
    train
        Training data whose facts are compared with those of the problems. Empty to leave that out.
    files
        For each dataset, the records of its files, so that findings name lines.
    progress
        Called with the number of problems done and of all.
    """
    _refuse_incomplete(only, rules, corpus, train)
    findings: list[Finding] = []
    groupings = [find_groups(dataset) for dataset in datasets]
    datasets = [with_groups(dataset, found=grouping) for dataset, grouping in zip(datasets, groupings, strict=True)]
    files = files or [()] * len(datasets)
    places = [RowPlaces(dataset, dataset_files) for dataset, dataset_files in zip(datasets, files, strict=True)]
    for dataset, grouping, dataset_files, dataset_places in zip(datasets, groupings, files, places, strict=True):
        if RECORDS in only:
            findings += _check_records(dataset, dataset_files, dataset_places)
        if "groups" in only:
            findings += _check_groups(dataset, grouping, dataset_places)
        findings += _check_content(dataset, dataset_places, only, rules)
    if "duplicates" in only:
        findings += _check_duplicates(datasets, places)
    if corpus is not None:
        for dataset, dataset_places in zip(datasets, places, strict=True):
            findings += _check_copies(dataset, corpus, dataset_places, progress)
    if train:
        training = [with_groups(dataset) for dataset in train]
        for dataset, dataset_places in zip(datasets, places, strict=True):
            findings.append(_check_facts(dataset, training, dataset_places, progress))
    return findings


def _check_content(dataset: Dataset, places: RowPlaces, only: Collection[str], rules: str | None) -> Iterator[Finding]:
    """Check one dataset's problems for leaks, broken rules and structure.

    Only the checks named in `only` are run. Groups must have been found. Languages without the rules for a check are
    noted.
    """
    if "leaks" in only:
        yield from _check_leaks(dataset)
    if "rules" in only:
        limits = _choose_limits(dataset, rules)
        yield from _check_rules(dataset, limits, places)
    if "structure" in only:
        yield _check_structure(dataset)
    yield from _list_unjudged(dataset, only)


def _refuse_incomplete(
    only: Collection[str], rules: str | None, corpus: Corpus | None, train: Sequence[Dataset]
) -> None:
    """Raise an error for an unknown check, or one without its data."""
    if rules is not None and rules not in RULES:
        raise UnknownName("set of rules", rules, RULES)
    for name in only:
        check_known("check", name, get_args(Check))
    if CORPUS in only and corpus is None:
        raise BadInput("the check 'corpus' needs an index of one: --corpus INDEX")
    if FACTS in only and not train:
        raise BadInput("the check 'facts' needs what was trained on: --train DATA")


def _choose_limits(dataset: Dataset, rules: str | None) -> Limits | None:
    """The limits in a set of rules, None for the universal rules.

    If no set is named, it depends on whether the problems come from a study.
    """
    if rules is None:
        is_from_study = all(problem.provenance.get("study") for problem in dataset)
        rules = "winogrande" if is_from_study else "universal"
    return RULES[cast(RuleSet, rules)]


def _list_unjudged(dataset: Dataset, only: Collection[str]) -> Iterator[Finding]:
    """Yield a finding for each language without rules for a check."""
    abilities = [ability for check_name, ability in NEEDED if check_name in only]
    for sentence in left_out(dataset.languages, dict.fromkeys(abilities)):
        yield Finding(dataset.card.name, "language", False, sentence, 0)


def _check_records(dataset: Dataset, files: Sequence[FileRecords], places: RowPlaces) -> Iterator[Finding]:
    """Yield findings on malformed records, and on problems without an answer.

    Missing answers count only if other problems have one.
    """
    name = dataset.card.name
    malformed: list[Malformed] = []
    for file in files:
        malformed += sorted(file.malformed, key=_get_line)
    if malformed:
        is_one_file = len({error.file for error in malformed}) == 1
        describe = _describe_malformed if is_one_file else str
        examples = tuple(describe(error) for error in malformed)
        subject = _count_subject(len(malformed), "record", "is", "are")
        details = [_record_details(error) for error in malformed]
        yield Finding(name, RECORDS, True, f"{subject} malformed", len(malformed), examples, {"records": details})
    rows = [row for row, problem in enumerate(dataset) if problem.answer is None]
    if 0 < len(rows) < len(dataset):
        subject = _count_subject(len(rows), "problem", "has", "have")
        message = f"{subject} no answer, and {len(dataset) - len(rows):,} have one"
        examples = tuple(f"{places.name(row)}: {dataset[row].text}" for row in rows)
        yield Finding(name, RECORDS, True, message, len(rows), examples, {"rows": rows})


def _record_details(error: Malformed) -> dict[str, Any]:
    """A malformed record as a dict for JSON."""
    return {"file": error.file, "line": error.line, "field": error.field, "expected": error.expected}


def _count_subject(count: int, noun: str, verb: str, plural_verb: str) -> str:
    """Subject and verb of a sentence: "1 record is", "2,000 records are"."""
    if count == 1:
        return f"1 {noun} {verb}"
    return f"{count:,} {noun}s {plural_verb}"


def _get_line(error: Malformed) -> int:
    """The line of a malformed record, 0 if it is not known."""
    return error.line if isinstance(error.line, int) else 0


def _describe_malformed(error: Malformed) -> str:
    """The error of a malformed record, after its place."""
    fault = str(Malformed(error.expected, field=error.field))
    if error.line is None:
        return fault
    return f"{name_place(error.line)}: {fault}"


def _check_groups(dataset: Dataset, grouping: Grouping, places: RowPlaces) -> Iterator[Finding]:
    """Yield findings on groups by size and evidence, and on possible twins."""
    name = dataset.card.name
    sizes = Counter(map(len, grouping.groups))
    grouped_count = sum(size * count for size, count in sizes.items())
    single_count = len(dataset) - grouped_count
    size_texts = [f"{count:,} {_name_size(size, count)}" for size, count in sorted(sizes.items())]
    evidence_texts = [f"{count:,} by {source}" for source, count in grouping.evidence.items() if count]
    shape = ", ".join(size_texts) or "none"
    evidence = f" ({', '.join(evidence_texts)})" if evidence_texts else ""
    message = f"groups: {shape}{evidence}; {single_count:,} single problems"
    yield Finding(name, "groups", False, message, len(grouping.groups), details={"evidence": grouping.evidence})
    ambiguous = grouping.ambiguous
    if ambiguous:
        examples = []
        for row, others in ambiguous.items():
            other = others[0]
            if row < other:
                examples.append(_show_both((dataset, row, places), (dataset, other, places)))
        message = f"{len(ambiguous):,} problems may be twins of others; their texts do not decide it"
        rows = [(row, *others) for row, others in ambiguous.items()]
        yield Finding(name, "groups", True, message, len(ambiguous), tuple(examples), {"rows": rows})


def _name_size(size: int, count: int) -> str:
    """The name of groups of a size: "pair", "triplets", "groups of 4"."""
    names = {2: "pair", 3: "triplet"}
    if size not in names:
        return f"groups of {size}"
    return names[size] if count == 1 else f"{names[size]}s"


def _show_both(first: tuple[Dataset, int, RowPlaces], second: tuple[Dataset, int, RowPlaces]) -> str:
    """An example of two problems with their places.

    Each is given by its dataset, its row and the places of the dataset.
    """
    one, row, places = first
    other, other_row, other_places = second
    both = name_two_places(places.of(row), other_places.of(other_row))
    return f"{both}: {one[row].text} / {other[other_row].text}"


def _check_leaks(dataset: Dataset) -> Iterator[Finding]:
    """Yield a finding for each leak of the answer.

    Another one has the number of tests and leaks.
    """
    name = dataset.card.name
    tests = find_leaks(dataset)
    if not tests:
        yield Finding(name, "leaks", False, "no answers to test for leaks", 0)
        return
    leaks = [test for test in tests if test.found]
    for leak in leaks:
        yield Finding(name, "leaks", True, _describe_leak(leak), leak.right, details=asdict(leak))
    noun = "leak" if len(leaks) < 2 else "leaks"
    message = f"{len(tests)} leak tests, {len(leaks) or 'no'} {noun} found"
    yield Finding(name, "leaks", False, message, len(tests) - len(leaks))


def _describe_leak(leak: Leak) -> str:
    """A leak as a sentence, with its counts and p-value."""
    is_tiny = leak.p_corrected < 0.0001
    p = "< 0.0001" if is_tiny else f"= {leak.p_corrected:.4f}"
    percent = 100 * leak.right / leak.n
    odds = f"{percent:.1f} %, chance {100 * leak.chance:.0f} %, p {p}"
    return f"{leak.name}: {leak.says} in {leak.right:,} of {leak.n:,} ({odds})"


def _check_rules(dataset: Dataset, limits: Limits | None, places: RowPlaces) -> Iterator[Finding]:
    """Yield a finding for each broken rule.

    A rule that only a writer can judge gives no warning. The built-in model reads about a hundred groups, unless only
    the universal rules count.
    """
    name = dataset.card.name
    rows_of_group: dict[str, list[int]] = defaultdict(list)
    for row, problem in enumerate(dataset):
        group = problem.group
        rows_of_group[f"row {row}" if group is None else group].append(row)
    groups_read = _choose_groups_to_read(list(rows_of_group)) if limits else set()
    violations_of_rule: dict[str, list[Violation]] = defaultdict(list)
    for group, rows in rows_of_group.items():
        members = [dataset[row] for row in rows]
        for violation in broken_rules(members, rows, limits, read=group in groups_read):
            violations_of_rule[violation.rule].append(violation)
    for rule, violations in violations_of_rule.items():
        examples = []
        for violation in violations:
            row = violation.rows[-1]
            examples.append(f"{places.name(row)}: {violation.reason}: {dataset[row].text}")
        message = _describe_violations(rule, len(violations), len(groups_read))
        is_soft = rule in rule_book.SOFT
        details = {"rows": [violation.rows for violation in violations]}
        yield Finding(name, "rules", not is_soft, message, len(violations), tuple(examples), details)
    whole_count = sum(problem.is_whole for problem in dataset)
    if whole_count:
        subject = _count_subject(whole_count, "problem", "is", "are")
        message = f"{subject} whole texts, which the rules for twins do not cover"
        yield Finding(name, "rules", False, message, whole_count)


def _choose_groups_to_read(groups: Sequence[str]) -> set[str]:
    """About `READ` groups, evenly spread, for the built-in model to read."""
    step = ceil(len(groups) / READ)
    return set(groups[:: max(step, 1)])


def _describe_violations(rule: str, count: int, read_count: int) -> str:
    """A broken rule as a sentence, with the number of its violations."""
    if rule not in rule_book.SOFT:
        noun = "time" if count == 1 else "times"
        return f"rule {rule}: broken {count:,} {noun}"
    message = f"rule {rule}: doubtful in {count:,}"
    if rule in rule_book.READ_FOR:
        message += f", of {read_count:,} that were read"
    return message


def _check_structure(dataset: Dataset) -> Finding:
    """Describe the positions of the special word and of the blank.

    The special word is the one in which twins differ.
    """
    name = dataset.card.name
    structure = Structure(dataset)
    if not structure.problems:
        return Finding(name, "structure", False, f"no structure to describe: {NO_BLANK}", 0)
    messages = []
    if structure.groups:
        percent = 100 * structure.special_last / structure.groups
        groups = f"{structure.special_last:,} of {structure.groups:,} groups ({percent:.0f} %)"
        messages.append(f"the special word is the last word in {groups}")
    if structure.judged:
        shares = _list_shares(structure.connective.most_common(4), structure.judged)
        messages.append(f"before the blank: {shares}")
    places = _list_shares(structure.blank_position.most_common(), structure.problems)
    messages.append(f"position of the blank: {places}")
    details = {
        "special_last": structure.special_last,
        "groups": structure.groups,
        "connective": dict(structure.connective.most_common()),
        "clauses": dict(sorted(structure.clauses.items())),
        "blank_position": dict(structure.blank_position),
    }
    return Finding(name, "structure", False, "; ".join(messages), structure.special_last, details=details)


def _list_shares(counts: Iterable[tuple[str, int]], total: int) -> str:
    """Names with their shares of a total in percent, for a sentence."""
    shares = [f"{name} {100 * count / total:.0f} %" for name, count in counts]
    return ", ".join(shares)


def _check_duplicates(datasets: Sequence[Dataset], places: Sequence[RowPlaces]) -> Iterator[Finding]:
    """Yield findings on repetitions.

    There is one for each kind in each pair of datasets.
    """
    rows_by_kind: dict[tuple[str, int, int], list[tuple[int, int]]] = defaultdict(list)
    for match in find_duplicates(datasets):
        index, row = match.first
        other_index, other_row = match.second
        rows_by_kind[match.kind, index, other_index].append((row, other_row))
    for (kind, index, other_index), rows in rows_by_kind.items():
        first = datasets[index]
        second = datasets[other_index]
        is_within = index == other_index
        name = first.card.name if is_within else f"{first.card.name} and {second.card.name}"
        plural_s = "" if len(rows) == 1 else "s"
        message = f"{len(rows):,} {KINDS[kind].format(s=plural_s)}"
        examples = []
        for row, other_row in rows:
            one = (first, row, places[index])
            other = (second, other_row, places[other_index])
            examples.append(_show_both(one, other))
        details: dict[str, Any] = {"kind": kind, "rows": rows}
        if is_within and kind in REPEATED:
            details["within"] = True
        yield Finding(name, "duplicates", True, message, len(rows), tuple(examples), details)


def find_duplicates(datasets: Sequence[Dataset]) -> list[Match]:
    """All repetitions within and across datasets, in order of place.

    `kind` is same, contradiction, near or twin.

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
        index, row = match.first
        other_index, other_row = match.second
        kind = _classify_match(match, datasets[index][row], datasets[other_index][other_row])
        if kind is not None:
            duplicates.append(replace(match, kind=kind))
    return duplicates


def _classify_match(match: Match, a: Problem, b: Problem) -> str | None:
    """The kind of repetition of two problems, or None.

    None means that it is by design. The same text with different answers is a contradiction.
    """
    bare = language_of(a.language).bare
    has_same_candidates = sorted(map(bare, a.candidates)) == sorted(map(bare, b.candidates))
    if match.kind == "same" and a.query == b.query and has_same_candidates:
        if a.right is None or b.right is None:
            return "same"
        return "same" if bare(a.right) == bare(b.right) else "contradiction"
    if a.is_continuation and not a.is_whole and not has_same_candidates:
        return None  # COPA: short premises are alike, with other things to choose from
    if match.across:
        return match.kind
    return None if _is_by_design(match, a, b) else match.kind


def _is_by_design(match: Match, a: Problem, b: Problem) -> bool:
    """Whether two problems of one dataset are meant to be alike.

    They are if they are in one group, are not near, are yes/no questions, have one occupation as a label, or differ
    only in spacing and marks.
    """
    is_one_group = a.group is not None and a.group == b.group
    if is_one_group or match.similarity < NEAR or a.query is not None:
        return True
    occupation = a.labels.get("occupation")
    if occupation and occupation == b.labels.get("occupation"):
        return True
    return letters(a.sentence) == letters(b.sentence)


def _check_copies(dataset: Dataset, corpus: Corpus, places: RowPlaces, progress: Progress | None) -> list[Finding]:
    """Find the problems of a dataset that a corpus contains.

    There is one finding for each kind of copy.
    """
    name = dataset.card.name
    findings = []
    copies_of_kind = grouped((copy.kind, copy) for copy in find_copies(dataset, corpus, progress))
    for kind, manner in COPIES.items():
        copies = copies_of_kind.get(kind, [])
        if not copies:
            continue
        subject = _count_subject(len(copies), "problem", "appears", "appear")
        examples = tuple(f"{places.name(copy.row)}: {dataset[copy.row].text} / {copy.sentence}" for copy in copies)
        details = {"kind": kind, "corpus": corpus.name, "rows": [copy.row for copy in copies]}
        message = f"{subject} {manner} in {corpus.name}"
        findings.append(Finding(name, CORPUS, True, message, len(copies), examples, details))
    return findings or [Finding(name, CORPUS, False, f"no problem appears in {corpus.name}", 0)]


def _check_facts(
    dataset: Dataset, training: Sequence[Dataset], places: RowPlaces, progress: Progress | None
) -> Finding:
    """Compare the facts behind problems with those of training data.

    The examples begin with the most similar facts.
    """
    facts = nearest_facts(dataset, training, progress)
    alike_count = sum(fact.similarity >= ALIKE for fact in facts)
    pair_count = sum(fact.shares_pair for fact in facts)
    mean = sum(fact.similarity for fact in facts) / max(len(facts), 1)
    message = (
        f"training data nearly states the fact behind {alike_count:,} of {len(facts):,} problems (similarity "
        f"≥ {ALIKE}; mean {mean:.2f}), and contains a (special word, candidate) pair of {pair_count:,}"
    )
    nearest_first = sorted(facts, key=lambda fact: (-fact.similarity, fact.row))
    examples = []
    for fact in nearest_first:
        training_fact = fact.training_fact or "nothing"
        examples.append(f"{places.name(fact.row)}: {fact.fact} / {training_fact} ({fact.similarity:.2f})")
    train_names = [trained.card.name for trained in training]
    details = {"train": train_names, "facts": [asdict(fact) for fact in facts]}
    return Finding(dataset.card.name, FACTS, False, message, alike_count, tuple(examples), details)
