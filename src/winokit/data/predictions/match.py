"""Texts matched to problems and to their candidates.

A row of somebody's log is about a problem, and speaks of one of its candidates.

Ids get lost between a dataset and a log, texts rarely do. A text is looked up to the letter, then by its words alone
(case, punctuation and spacing forgotten), then as the sentence with its pronoun. What fits two different problems, or
none, is refused with a reason: a wrong match would go into a score unseen.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from winokit.methods.transforms.variants import PERTURBED, TRANSFORMS, Variant, make_variants
from winokit.problem import ORIGINAL, Dataset, Problem, folded_text, original_id
from winokit.text.language import language_of

if TYPE_CHECKING:
    from winokit.data.predictions.documents import LoggedDocument

BLANKS = re.compile(r"\[(?:blank|mask)\]|<(?:blank|mask)>|_+", re.IGNORECASE)
TOKEN = re.compile(r"_|[^\W_]+")
POSSESSIVE = re.compile(r"['’]s?$")
SOURCE_IDS = ("qID", "idx", "id", "index", "UID")
DOCUMENT_HASH = re.compile(r"[0-9a-f]{64}")
START = 4
"""Words by which a problem is looked for inside a longer text, before the whole of it is compared."""


@dataclass(slots=True)
class PredictionRow:
    """One prediction as its file states it.

    Indices and scores follow the row's own order of candidates.
    """

    place: str
    """Its place in the file, for messages: "line 12", "sample 3"."""
    model: str
    scoring: str
    variant: str = ORIGINAL
    hits: tuple[int, ...] = ()
    """Places in the dataset of the problem it is about, or that its variant was made of; several for exact repetitions,
    none where it matches none."""
    reason: str = ""
    """Why it matches none, or why nothing can be taken from it."""
    language: str = "en"
    """Of its problem: by whose rules its answer is read."""
    candidates: tuple[str, ...] | None = None
    """The candidates in the row's order; None where the file knows only the dataset's."""
    scores: tuple[float, ...] | None = None
    prediction: int | None = None
    why: str | None = None
    """Why it is an abstention."""
    gold: int | None = None
    """The right answer according to the file, to be compared with the dataset's."""
    verdict: bool | None = None
    """Whether the file itself says that the prediction is right."""
    surprisal: float | None = None
    """Of the solved text, per word, where that was scored and not the candidates."""
    sample: int | None = None
    """The number of the answer among several to one problem, from 0. None if the file has one each."""


class Unmatched(Exception):
    """A row that is about no problem, or about an unknown one.

    The message is the reason.
    """


def tokens(text: str) -> list[str]:
    """The words of a text without case and punctuation.

    Whatever marks the blank becomes `_`.

    >>> tokens("Tom's dog bit [BLANK] -- twice!"), tokens("tom ’s dog bit ____ twice")
    (['tom', 's', 'dog', 'bit', '_', 'twice'], ['tom', 's', 'dog', 'bit', '_', 'twice'])
    """
    normal = unicodedata.normalize("NFKC", text)
    with_blanks = BLANKS.sub(" _ ", normal)
    return TOKEN.findall(with_blanks.casefold())


def align(offered: Sequence[str], candidates: Sequence[str], language: str = "en") -> tuple[int, ...] | None:
    """For each name offered, the index of its candidate.

    None unless the names are the same candidates in some order.

    >>> align(["The cup", "jug"], ["the jug", "the cup"]), align(["the cup", "Nora"], ["the jug", "the cup"])
    ((1, 0), None)
    """
    if len(offered) != len(candidates):
        return None
    if tuple(offered) == tuple(candidates):
        return tuple(range(len(candidates)))
    indices = [which(name, candidates, language) for name in offered]
    order = tuple(index for index in indices if index is not None)
    return order if len(set(order)) == len(candidates) else None


def which(name: str, candidates: Sequence[str], language: str = "en") -> int | None:
    """The index of the one candidate that a name means.

    Case, article, punctuation and possessive do not count.

    >>> which("des Koffers", ["der Pokal", "der Koffer"], "de")
    1
    """
    return _find_named_candidate(name, tuple(candidates), language)


@lru_cache(1 << 16)  # the same few names in every file about a dataset
def _find_named_candidate(name: str, candidates: tuple[str, ...], language: str) -> int | None:
    for normalize in (_normalize_case, _normalize_words, _normalize_possessive):
        wanted_form = normalize(name, language)
        indices = [index for index, candidate in enumerate(candidates) if normalize(candidate, language) == wanted_form]
        if indices:
            is_clear = len(indices) == 1 and wanted_form
            return indices[0] if is_clear else None
    pack = language_of(language)
    if pack.name == "English" or pack.refusal("candidates"):
        return None
    # In another case, the name is a form of the candidate from end to end.
    form = pack.core(name.strip(" .,;:!?\"'“”„«»"))
    whole_span = (0, len(form))
    indices = [
        index for index, candidate in enumerate(candidates) if whole_span in pack.mention_places(form, candidate)
    ]
    return indices[0] if len(indices) == 1 else None


def _normalize_case(name: str, language: str) -> str:
    return folded_text(name)


def _normalize_words(name: str, language: str) -> str:
    bare = language_of(language).bare
    return " ".join(tokens(bare(name)))


def _normalize_possessive(name: str, language: str) -> str:
    """Normalize a name without its possessive.

    lm-evaluation-harness gives it a possessive in place of "his".
    """
    return _normalize_words(POSSESSIVE.sub("", name.strip()), language)


def align_difference(texts: Sequence[str], candidates: Sequence[str], language: str = "en") -> tuple[int, ...] | None:
    """For each of several long texts, the candidate that only it has.

    What is left of the texts without their common start and end must be what is left of the candidates.

    >>> align_difference(["hid the green car.", "hid the black car."], ["black car", "green car"])
    (1, 0)
    """
    if len(texts) != len(candidates):
        return None
    differences = _remove_common_ends([tokens(text) for text in texts])
    bare = language_of(language).bare
    for forms in (candidates, [bare(name) for name in candidates]):
        names = _remove_common_ends([tokens(form) for form in forms])
        is_distinct = len(set(names)) == len(names)
        if is_distinct and sorted(names) == sorted(differences):
            return tuple(names.index(difference) for difference in differences)
    return align([" ".join(words) for words in differences], candidates, language)


def _remove_common_ends(lists: list[list[str]]) -> list[tuple[str, ...]]:
    """Remove the start and the end that all lists have in common."""
    start = _count_common_words(lists)
    end = _count_common_words([words[start:][::-1] for words in lists])
    return [tuple(words[start : len(words) - end]) for words in lists]


def _count_common_words(lists: list[list[str]]) -> int:
    """The number of first words that all lists have in common."""
    count = 0
    for words in zip(*lists, strict=False):
        if len(set(words)) > 1:
            break
        count += 1
    return count


def option_behind(label: str, prompt: str) -> str | None:
    r"""The option that a prompt lists behind a letter or number.

    With solved examples before it, the last list counts.

    >>> option_behind("B", "Who is she?\nA) Nora\nB) Ines\nAnswer:")
    'Ines'
    """
    bare_label = label.strip()
    if not bare_label:
        return None
    pattern = rf"^[ \t]*\(?{re.escape(bare_label)}[).:][ \t]*(\S.*)$"
    options = re.findall(pattern, prompt, re.MULTILINE | re.IGNORECASE)
    return options[-1].strip() if options else None


class Matcher:
    """Finds the problems of a dataset by id or by text.

    A text may be inside a longer one. The problems of each variant are found in the same way.

    Parameters
    ----------
    versions
        Variants that are read, and cannot be made of the dataset.
    """

    def __init__(self, dataset: Dataset, versions: Mapping[str, Variant] | None = None) -> None:
        self.dataset = dataset
        self.versions = versions or {}
        self._variants: dict[str, Matcher] = {ORIGINAL: self}
        self._found: dict[tuple[Any, ...], tuple[int, ...] | str] = {}
        """Outcomes of earlier questions: files about one dataset have the same texts."""

    def for_variant(self, variant: str) -> "Matcher":
        """The matcher of a variant's problems.

        It has none if the variant cannot be made of any problem.
        """
        if variant not in self._variants:
            self._variants[variant] = Matcher(self._make_variant(variant))
        return self._variants[variant]

    def _make_variant(self, variant: str) -> Dataset:
        """The problems of a variant."""
        if variant in self.versions:
            return self.versions[variant].problems
        if variant not in TRANSFORMS:
            hint = "name its file with --perturbed" if variant.startswith(PERTURBED) else "no such transform"
            raise Unmatched(f"variant {variant!r}: {hint}")
        variants = make_variants(self.dataset, {variant})
        return variants[variant].problems if variant in variants else Dataset([])

    def find_document(self, document: "LoggedDocument") -> tuple[int, ...]:
        """The index of the problem that winokit's own document is about.

        Raises Unmatched if its text is another.
        """
        if document.of not in self.by_id:
            raise Unmatched(f"no problem has the id {document.of!r}")
        matcher = self.for_variant(document.variant)
        row = matcher.by_origin.get(document.of)
        stated_problem = document.problem
        is_same = False
        if row is not None and stated_problem is not None:
            is_same = _get_text_id(matcher.dataset[row]) == _get_text_id(stated_problem)
        if not is_same:
            raise Unmatched(f"it is not the {document.variant} problem of {document.of}: written from other data")
        return (self.by_id[document.of],)

    def find_in_variants(self, find: "Callable[[Matcher], tuple[int, ...]]") -> tuple[str, tuple[int, ...]]:
        """The first variant in which something is found, with its indices.

        The indices are those of the problems that the variant was made of.
        """
        first_reason: Unmatched | None = None
        for variant in self._variant_names:
            try:
                matcher = self.for_variant(variant)
                hits = find(matcher)
            except Unmatched as reason:
                first_reason = first_reason or reason
                continue
            origins = [original_id(matcher.dataset[hit]) for hit in hits]
            return variant, tuple(self.by_id[origin] for origin in origins)
        raise first_reason or Unmatched("there are no problems")

    @cached_property
    def _variant_names(self) -> tuple[str, ...]:
        """Every variant that there may be.

        Listing the transforms asks all packages that are installed.
        """
        return (ORIGINAL, *self.versions, *TRANSFORMS)

    @cached_property
    def by_origin(self) -> dict[str, int]:
        """Indices by the id of the problem that each was made of."""
        return {original_id(problem): index for index, problem in enumerate(self.dataset)}

    @cached_property
    def ids(self) -> list[str]:
        """The public id of each problem.

        Each is a hash, so they are made once.
        """
        return [problem.id for problem in self.dataset]

    @cached_property
    def by_id(self) -> dict[str, int]:
        """Indices by public id."""
        return {name: index for index, name in enumerate(self.ids)}

    @cached_property
    def by_source_id(self) -> dict[str, list[int]]:
        """Indices by the ids of the source: WinoGrande's qID, SuperGLUE's idx, COPA's id."""
        indices: dict[str, list[int]] = {}
        for index, problem in enumerate(self.dataset):
            values = [problem.provenance.get(key) for key in SOURCE_IDS]
            names = {str(value) for value in values if value is not None}
            for name in names:
                indices.setdefault(name, []).append(index)
        return indices

    @cached_property
    def by_document_hash(self) -> dict[str, list[int]]:
        """Indices by the harness's hash of a problem's document.

        lm-evaluation-harness has documents with a qID and without.
        """
        indices: dict[str, list[int]] = {}
        for index, problem in enumerate(self.dataset):
            options = {f"option{number}": name for number, name in enumerate(problem.candidates, 1)}
            answer = "" if problem.answer is None else str(problem.answer + 1)
            plain_document = {"sentence": problem.text, **options, "answer": answer}
            versions = [plain_document]
            if "qID" in problem.provenance:
                question_id = str(problem.provenance["qID"])
                versions.append({"qID": question_id, **plain_document})
            for document in versions:
                text = json.dumps(document, indent=2, ensure_ascii=False)
                document_hash = sha256(text.encode()).hexdigest()
                indices.setdefault(document_hash, []).append(index)
        return indices

    @cached_property
    def _text_indexes(self) -> tuple[dict[str, list[int]], ...]:
        """Indices by text, to the letter and by its words.

        A third index has the words of the sentence with its pronoun, or of the premise.
        """
        exact: dict[str, list[int]] = {}
        worded: dict[str, list[int]] = {}
        spoken: dict[str, list[int]] = {}
        for index, problem in enumerate(self.dataset):
            exact.setdefault(problem.text, []).append(index)
            words = " ".join(tokens(problem.text))
            worded.setdefault(words, []).append(index)
            sentence = problem.labels.get("premise", None if problem.pronoun is None else problem.sentence)
            if sentence is not None:
                sentence_words = " ".join(tokens(str(sentence)))
                spoken.setdefault(sentence_words, []).append(index)
        return exact, worded, spoken

    @cached_property
    def _problems_by_start(self) -> dict[tuple[str, ...], list[tuple[list[str], int]]]:
        """Words and index of each problem, in both forms, by its first words."""
        problems: dict[tuple[str, ...], list[tuple[list[str], int]]] = {}
        for index, problem in enumerate(self.dataset):
            for text in {problem.text, problem.sentence}:
                words = tokens(text)
                start = tuple(words[:START])
                problems.setdefault(start, []).append((words, index))
        return problems

    def find(self, text: str, candidates: Sequence[str] | None = None, like: Problem | None = None) -> tuple[int, ...]:
        """The index of the one problem with this text.

        There are several indices if it is repeated exactly. Raises Unmatched if no problem fits, or several do.

        Candidates, in whatever order, and query and pronoun of `like` tell problems with one text apart.
        """
        question = (text, None if candidates is None else tuple(candidates), like)
        if question not in self._found:
            self._found[question] = self._look_up_text(*question)
        outcome = self._found[question]
        if isinstance(outcome, str):
            raise Unmatched(outcome)
        return outcome

    def _look_up_text(self, text: str, candidates: Sequence[str] | None, like: Problem | None) -> tuple[int, ...] | str:
        """The indices, or why there are none."""
        words = " ".join(tokens(text))
        exact, worded, spoken = self._text_indexes
        first_reason = ""
        for hits in (exact.get(text), worded.get(words), spoken.get(words)):
            if not hits or not words:
                continue
            try:
                return self._tell_apart(hits, candidates, like)
            except Unmatched as reason:
                first_reason = first_reason or str(reason)
        return first_reason or f"no problem has the text {shown(text)}"

    def find_inside(self, text: str, candidates: Sequence[str] | None = None) -> tuple[int, ...]:
        """The index of the one problem whose whole text a longer one has.

        Raises Unmatched if no problem fits, or several do.

        A problem does not count if its text is part of another problem's text that is there too.
        """
        spans = self._find_spans(tokens(text))
        if not spans:
            raise Unmatched(f"no problem's text occurs in {shown(text)}")
        hits = [index for index, span in sorted(spans.items()) if not _is_inside_another(span, spans.values())]
        return self._tell_apart(hits, candidates)

    def _find_spans(self, words: Sequence[str]) -> dict[int, tuple[int, int]]:
        """First word and end of each problem that some words contain.

        They are by the index of the problem, whose text is there whole.
        """
        spans: dict[int, tuple[int, int]] = {}
        for first in range(len(words)):
            for size in range(1, START + 1):
                start = tuple(words[first : first + size])
                for problem_words, index in self._problems_by_start.get(start, ()):
                    end = first + len(problem_words)
                    if words[first:end] == problem_words:
                        spans[index] = (first, end)
        return spans

    def _tell_apart(
        self, hits: Sequence[int], candidates: Sequence[str] | None, like: Problem | None = None
    ) -> tuple[int, ...]:
        """The hits that fit what is known, if they are one problem.

        It may be repeated. Raises Unmatched otherwise.
        """
        differences = {hit: _describe_difference(self.dataset[hit], candidates, like) for hit in hits}
        fitting = [hit for hit, difference in differences.items() if not difference]
        if not fitting:
            raise Unmatched(f"a problem has its text, and {differences[hits[0]]}")
        if len(fitting) == 1:
            return (fitting[0],)
        text_ids = {_get_text_id(self.dataset[hit]) for hit in fitting}
        if len(text_ids) > 1:
            examples = ", ".join(self.ids[hit] for hit in fitting[:3])
            raise Unmatched(f"{len(fitting)} problems match it, among them {examples}")
        return tuple(fitting)


def _is_inside_another(span: tuple[int, int], spans: Iterable[tuple[int, int]]) -> bool:
    """Whether a span of words is part of a longer one."""
    start, end = span
    for other_start, other_end in spans:
        is_inside = other_start <= start and end <= other_end
        if is_inside and (other_start, other_end) != span:
            return True
    return False


def _get_text_id(problem: Problem) -> str:
    """The part of an id that exact repetitions share.

    Ids end in the number of their occurrence.
    """
    return problem.id.partition(".")[0]


def _describe_difference(problem: Problem, candidates: Sequence[str] | None, like: Problem | None) -> str:
    """The reason, in words, why a problem does not fit.

    Empty if it fits.
    """
    if candidates is not None and align(candidates, problem.candidates, problem.language) is None:
        return f"the candidates {listed(problem.candidates)}, not {listed(candidates)}"
    bare = language_of(problem.language).bare
    for name in ("query", "pronoun"):
        stated = getattr(like, name, None)
        expected = getattr(problem, name)
        if stated is None or expected is None:
            continue
        if bare(stated) != bare(expected):
            return f"the {name} {expected!r}, not {stated!r}"
    return ""


def listed(names: Iterable[str]) -> str:
    """Candidates for a message, on one line."""
    lines = [" ".join(name.split()) for name in names]
    return " / ".join(lines)


def shown(text: str) -> str:
    """A text for a message: its beginning, on one line."""
    line = " ".join(text.split())
    return f"'{line[:60]}…'" if len(line) > 60 else f"'{line}'"
