"""`winokit hunt`: index any text, and show the evidence by which the hunter decides a problem."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from winokit.data.loading import DATA_HELP, Data, DataLike, load
from winokit.drawing.wording import plural
from winokit.errors import BadInput
from winokit.methods.hunting import hunter
from winokit.methods.hunting.building import BuiltIndex, build_index
from winokit.methods.hunting.corpus import CorpusLayout
from winokit.methods.hunting.ngram_corpus import NgramCorpus, open_corpus
from winokit.methods.hunting.queries import DEFAULT_SETS, load_synonyms
from winokit.methods.hunting.roles import AGENT, PATIENT
from winokit.methods.hunting.search import SentenceIndex
from winokit.problem import Dataset, Problem
from winokit.progress import Progress, tell
from winokit.settings import Help, Settings, verb

MARK = ("»", "«")
"""Marks around matching words, if the terminal has no colours."""
Index = Annotated[
    str | Path | SentenceIndex | NgramCorpus,
    Help("An index that `winokit hunt index` made, or infinigram:INDEX@URL.", "INDEX"),
]


@verb
def index(
    corpus: Annotated[
        Sequence[str | Path],
        Help("Files of text or .jsonl, also .gz, .xz, .bz2 or .zst, or folders of them.", "CORPUS"),
    ],
    *,
    out: Annotated[str | Path, Help("The index to make or to add to.", "INDEX")],
    lines: Annotated[bool, Help("Every line is a document.")] = False,
    field: Annotated[str, Help("The field of .jsonl that has the text.", "NAME")] = "text",
    encoding: Annotated[str, Help("Of the text.", "NAME")] = "utf-8",
    workers: Annotated[
        int | None, Help("Processes that split sentences. Default: the number of processors minus one.", least=0)
    ] = None,
    progress: Progress | None = None,
) -> BuiltIndex:
    """Make an index of a corpus, or add to one.

    Files already in it are skipped, and a stopped run continues where it was.
    """
    layout = CorpusLayout("lines" if lines else "paragraphs", field, encoding)
    built = build_index(corpus, out, layout=layout, workers=workers, progress=progress)
    tell(built.notes)
    return built


def index_lines(built: BuiltIndex) -> Iterator[str]:
    """Lines for the terminal on an index and the files in it.

    They have its size, and the numbers of files that were added or skipped.
    """
    yield f"{built.sentences:,} sentences of {built.files:,} files in {built.out} ({built.bytes / 1e6:,.1f} MB)"
    files_by_outcome = {"added": built.added, "read again": built.replaced, "known before": built.unchanged}
    counts = [f"{len(files):,} {outcome}" for outcome, files in files_by_outcome.items() if files]
    yield f"files: {', '.join(counts)}"


@dataclass(frozen=True)
class HuntedProblem(Settings):
    """Choice of a problem: a row of DATA, or a text."""

    row: Annotated[int, Help("Which problem of DATA, counted from 1.", least=1)] = 1
    text: Annotated[str | None, Help("Your own text, with _ for the blank.", "TEXT")] = None
    candidate: Annotated[Sequence[str], Help("A candidate for it; repeatable.", "NAME")] = ()
    pronoun: Annotated[str | None, Help("The pronoun that the blank replaces (his, it).", "WORD")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.text is not None and self.row != 1:
            raise BadInput("--row: a row of DATA, and the problem asked about is that of --text")
        for name in ("candidate", "pronoun"):
            if self.text is None and getattr(self, name):
                raise BadInput(f"--{name}: an option of --text; problems of DATA have their own")

    def loaded(self, data: DataLike | None) -> Problem:
        """Load the chosen problem.

        Raises BadInput if neither or both of DATA and a text are given, or if DATA has no such row.
        """
        if (data is None) == (self.text is None):
            raise BadInput("expected one problem: DATA and --row, or --text and --candidate twice")
        if data is None:
            return Problem.from_text(str(self.text), self.candidate, pronoun=self.pronoun)
        dataset = data if isinstance(data, Dataset) else load(data, groups=False)
        if self.row > len(dataset):
            raise BadInput(f"{data}: row {self.row} asked for, where there are {len(dataset):,}")
        return dataset[self.row - 1]


@dataclass(frozen=True)
class HunterSettings(Settings):
    """Settings of the hunter: its sets of queries, synonyms and parser."""

    set_: Annotated[
        Sequence[str],
        Help("whole, heads, synonyms or without; repeatable. Default: the first three.", "NAME", shown=False),
    ] = DEFAULT_SETS
    synonyms: Annotated[str | None, Help("A file of synonyms, one set per line; 'off' for none.", "FILE")] = None
    parser: Annotated[str, Help("rules (the built-in grammar), or a file of parses.", "NAME")] = hunter.RULES

    def opened(self, index: str | Path | SentenceIndex | NgramCorpus) -> hunter.Hunter:
        """Make the hunter over an index.

        The index is opened if it is a path or an address.
        """
        corpus = open_corpus(str(index)) if isinstance(index, str | Path) else index
        return hunter.Hunter(corpus, sets=self.set_, synonyms=load_synonyms(self.synonyms), parser=self.parser)


@verb
def hunt(
    index: Index,
    data: Annotated[Data | None, Help(DATA_HELP, "DATA")] = None,
    *,
    asked: HuntedProblem = HuntedProblem(),
    settings: HunterSettings = HunterSettings(),
    examples: Annotated[int, Help("How many sentences to show for each side.", least=0)] = 5,
) -> hunter.Hunt:
    """Show why the hunter decides as it does: its reading, queries, evidence and decision for one problem."""
    problem = asked.loaded(data)
    return replace(settings.opened(index).hunt(problem), examples=examples)


def hunt_lines(hunt: hunter.Hunt) -> Iterator[str]:
    """Lines for the terminal: reading, queries, evidence and decision for one problem.

    The reading is what the parser makes of the text: the verb, and who does what to whom. Matching words are green, or
    marked if the output is no terminal.
    """
    problem = hunt.problem
    reading = hunt.reading
    yield f"\x1b[1m{problem.text}\x1b[0m"
    yield f"  parser   {hunt.parser}"
    if reading is not None:
        head = reading.context.head
        yield f"  agent    {problem.candidates[reading.agent]}: {_name_part(reading.agent_slot)} '{head}'"
        yield f"  patient  {problem.candidates[reading.patient]}: {_name_part(reading.patient_slot)} '{head}'"
        yield f"  blank    {_name_part(reading.blank_slot)} '{reading.query.head}' in '{reading.query.text}'"
        yield "queries"
        for pair, number in hunt.queries:
            yield f"  {pair.set:9} {number:5,} found  {pair}"
        yield from _describe_evidence(hunt, AGENT, problem.candidates[reading.agent])
        yield from _describe_evidence(hunt, PATIENT, problem.candidates[reading.patient])
    if hunt.passed_over:
        reason_counts = Counter(reason for _, reason in hunt.passed_over).most_common()
        reasons = [f"{count:,} × {reason}" for reason, count in reason_counts]
        yield f"skipped: {', '.join(reasons)}"
    decision = f"no answer: {hunt.why}" if hunt.choice is None else problem.candidates[hunt.choice]
    right = "" if problem.right is None else f" (right: {problem.right})"
    yield f"decision: {decision}{right}"


def _name_part(slot: str) -> str:
    """Words for a slot of a verb: subject, object, possessor or preposition.

    >>> _name_part("subject"), _name_part("into")
    ('subject of', "after 'into' of")
    """
    return f"{slot} of" if slot in ("subject", "object", "possessor") else f"after '{slot}' of"


def _describe_evidence(hunt: hunter.Hunt, role: str, name: str) -> Iterator[str]:
    """Lines on the evidence for one candidate, the heaviest first.

    The evidence is sentences with the candidate's role. `name` is the candidate.
    """
    role_evidence = [evidence for evidence in hunt.evidence if evidence.label == role]
    weight = sum(evidence.weight for evidence in role_evidence)
    yield f"for {name}: {plural(len(role_evidence), 'sentence')}, weight {weight:,}"
    mark = ("\x1b[32m", "\x1b[0m") if sys.stdout.isatty() else MARK
    heaviest_first = sorted(role_evidence, key=lambda evidence: -evidence.weight)
    for evidence in heaviest_first[: hunt.examples]:
        source = f"  ({evidence.source})" if evidence.source else ""
        yield f"  {evidence.weight}  {highlighted(evidence.text, evidence.spans, mark)}{source}"


def highlighted(text: str, spans: tuple[tuple[int, int], ...], mark: tuple[str, str] = MARK) -> str:
    """Put marks around the matching spans of a sentence.

    A span is the index of its first character and that after its last.

    >>> highlighted("I could not lift it.", ((2, 16),))
    'I »could not lift« it.'
    """
    opening, closing = mark
    parts = []
    position = 0
    for start, end in sorted(spans):
        parts += [text[position:start], opening, text[start:end], closing]
        position = end
    return "".join([*parts, text[position:]])


def hunt_json(hunt: hunter.Hunt) -> dict[str, Any]:
    """The hunt for one problem as JSON-ready values."""
    return {
        "text": hunt.problem.text,
        "candidates": list(hunt.problem.candidates),
        "answer": hunt.problem.answer,
        "parser": hunt.parser,
        "reading": None if hunt.reading is None else asdict(hunt.reading),
        "queries": [{"set": pair.set, "query": str(pair), "found": number} for pair, number in hunt.queries],
        "evidence": [asdict(evidence) | {"weight": evidence.weight} for evidence in hunt.evidence],
        "passed_over": [{"text": hit.text, "why": why} for hit, why in hunt.passed_over],
        "agent": hunt.decision.agent,
        "patient": hunt.decision.patient,
        "choice": hunt.choice,
        "why": hunt.why,
    }
