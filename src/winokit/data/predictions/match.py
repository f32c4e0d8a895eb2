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
    """One prediction as a file states it.

    Indices and scores follow the row's own order of candidates, which may differ from the dataset's.
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
    """Of the text with the right candidate in its blank, in nats per word. None where that was not scored."""
    sample: int | None = None
    """The number of the answer among several to one problem, from 0. None if the file has one each."""


class Unmatched(Exception):
    """A row belongs to no problem, or to an unclear one.

    The message is the reason.
    """


def tokens(text: str) -> list[str]:
    """The words of a text without case and punctuation.

    Any mark of a blank becomes `_`.

    >>> tokens("Tom's dog bit [BLANK] -- twice!"), tokens("tom ’s dog bit ____ twice")
    (['tom', 's', 'dog', 'bit', '_', 'twice'], ['tom', 's', 'dog', 'bit', '_', 'twice'])
    """
    normal = unicodedata.normalize("NFKC", text)
    with_blanks = BLANKS.sub(" _ ", normal)
    return TOKEN.findall(with_blanks.casefold())


def align(offered: Sequence[str], candidates: Sequence[str], language: str = "en") -> tuple[int, ...] | None:
    """For each name, the index of the candidate that it means.

    None unless the names are the same candidates in some order.

    Parameters
    ----------
    offered
        Names as a file has them.
    candidates
        The candidates of the problem.
    language
        BCP 47 code of the language by whose rules names are compared.

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
    """Index of the only candidate that a name means, or None.

    Case, article, punctuation and possessive ending are ignored, and so is inflection in languages that have rules
    for it.

    >>> which("des Koffers", ["der Pokal", "der Koffer"], "de")
    1
    """
    return _find_named_candidate(name, tuple(candidates), language)


@lru_cache(1 << 16)  # the same few names in every file about a dataset
def _find_named_candidate(name: str, candidates: tuple[str, ...], language: str) -> int | None:
    """Index of the only candidate that a name means, or None.

    Names are compared without case, then also without article and punctuation, then without possessive ending, and
    last as inflected forms. The first comparison that fits any candidate decides: None if it fits several. Results
    are cached.
    """
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
    """The name without case, for comparisons."""
    return folded_text(name)


def _normalize_words(name: str, language: str) -> str:
    """The words of the name without article, case and punctuation."""
    bare = language_of(language).bare
    return " ".join(tokens(bare(name)))


def _normalize_possessive(name: str, language: str) -> str:
    """The words of the name without its possessive ending.

    lm-evaluation-harness adds such an ending if the pronoun is "his" or the like.
    """
    return _normalize_words(POSSESSIVE.sub("", name.strip()), language)


def align_difference(texts: Sequence[str], candidates: Sequence[str], language: str = "en") -> tuple[int, ...] | None:
    """Indices of the candidates in which several texts differ.

    There is one for each text. What remains of the texts without their common start and end must be what remains of
    the candidates. Otherwise None.

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
    """Remove the start and end that all lists of words share."""
    start = _count_common_words(lists)
    end = _count_common_words([words[start:][::-1] for words in lists])
    return [tuple(words[start : len(words) - end]) for words in lists]


def _count_common_words(lists: list[list[str]]) -> int:
    """Number of first words that are the same in all lists."""
    count = 0
    for words in zip(*lists, strict=False):
        if len(set(words)) > 1:
            break
        count += 1
    return count


def option_behind(label: str, prompt: str) -> str | None:
    r"""The option that a prompt lists behind a letter or number.

    If solved examples come first, the last list counts. None if there is no such label.

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
    """Finds problems of a dataset and its variants by id or text.

    Problems are returned as indices in the dataset: a tuple of one index, or of several if the problem is repeated
    exactly.

    Parameters
    ----------
    versions
        Variants that cannot be made from the dataset, because they were read from files, by name.
    """

    def __init__(self, dataset: Dataset, versions: Mapping[str, Variant] | None = None) -> None:
        self.dataset = dataset
        self.versions = versions or {}
        self._variants: dict[str, Matcher] = {ORIGINAL: self}
        self._found: dict[tuple[Any, ...], tuple[int, ...] | str] = {}
        """Outcomes of earlier questions: files about one dataset have the same texts."""

    def for_variant(self, variant: str) -> "Matcher":
        """The matcher of a variant's problems.

        It has no problems if the variant cannot be made of any problem. Raises Unmatched if there is no such variant.
        """
        if variant not in self._variants:
            self._variants[variant] = Matcher(self._make_variant(variant))
        return self._variants[variant]

    def _make_variant(self, variant: str) -> Dataset:
        """The problems of a variant.

        They are read from a file or made from the dataset.
        """
        if variant in self.versions:
            return self.versions[variant].problems
        if variant not in TRANSFORMS:
            hint = "name its file with --perturbed" if variant.startswith(PERTURBED) else "no such transform"
            raise Unmatched(f"variant {variant!r}: {hint}")
        variants = make_variants(self.dataset, {variant})
        return variants[variant].problems if variant in variants else Dataset([])

    def find_document(self, document: "LoggedDocument") -> tuple[int, ...]:
        """Indices of the problem of a document that winokit wrote.

        Raises Unmatched if the dataset has no such problem, or its text differs from the document's.
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
        """The first variant in which a search succeeds.

        Returns it, and the indices that were found. They are the indices of the original problems from which the
        variant was made. Raises Unmatched if it succeeds in none.

        Parameters
        ----------
        find
            Searches a variant's problems with their matcher. Raises Unmatched if it finds nothing.
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
        """Names of all variants that there may be.

        They are computed once, because listing the transforms asks all installed packages.
        """
        return (ORIGINAL, *self.versions, *TRANSFORMS)

    @cached_property
    def by_origin(self) -> dict[str, int]:
        """Index of each problem by the id of its original problem.

        In a variant, each problem was made from an original one.
        """
        return {original_id(problem): index for index, problem in enumerate(self.dataset)}

    @cached_property
    def ids(self) -> list[str]:
        """The public id of each problem.

        Each is a hash, so they are computed once.
        """
        return [problem.id for problem in self.dataset]

    @cached_property
    def by_id(self) -> dict[str, int]:
        """Index of each problem by its public id."""
        return {name: index for index, name in enumerate(self.ids)}

    @cached_property
    def by_source_id(self) -> dict[str, list[int]]:
        """Indices of problems by an id of their source, as text.

        Such ids are WinoGrande's qID, SuperGLUE's idx and COPA's id.
        """
        indices: dict[str, list[int]] = {}
        for index, problem in enumerate(self.dataset):
            values = [problem.provenance.get(key) for key in SOURCE_IDS]
            names = {str(value) for value in values if value is not None}
            for name in names:
                indices.setdefault(name, []).append(index)
        return indices

    @cached_property
    def by_document_hash(self) -> dict[str, list[int]]:
        """Indices of problems by the hash that lm-evaluation-harness has for their document.

        A document with a qID has two hashes, since the harness has it with and without.
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
        """Three dictionaries from a text to the indices of its problems.

        The first has the texts as they are, the second their words, and the third the words of the sentence with its
        pronoun, or of the premise.
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
        """Words and index of each problem, by its first words.

        Each problem is there with its blank and with its pronoun.
        """
        problems: dict[tuple[str, ...], list[tuple[list[str], int]]] = {}
        for index, problem in enumerate(self.dataset):
            for text in {problem.text, problem.sentence}:
                words = tokens(text)
                start = tuple(words[:START])
                problems.setdefault(start, []).append((words, index))
        return problems

    def find(self, text: str, candidates: Sequence[str] | None = None, like: Problem | None = None) -> tuple[int, ...]:
        """Indices of the problem with this text.

        Raises Unmatched if no problem fits, or several do.

        Parameters
        ----------
        text
            The text of the problem, with a blank or with the pronoun.
        candidates
            Candidates that it must have, in any order. None if they are not known.
        like
            A problem whose query and pronoun it must have. None if they are not known.
        """
        question = (text, None if candidates is None else tuple(candidates), like)
        if question not in self._found:
            self._found[question] = self._look_up_text(*question)
        outcome = self._found[question]
        if isinstance(outcome, str):
            raise Unmatched(outcome)
        return outcome

    def _look_up_text(self, text: str, candidates: Sequence[str] | None, like: Problem | None) -> tuple[int, ...] | str:
        """Indices of the problem with this text.

        If there is none, the reason is returned as a text.
        """
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
        """Indices of the problem whose text is part of a longer text.

        A problem does not count if its text is inside that of another problem found. Raises Unmatched if no problem
        fits, or several do.
        """
        spans = self._find_spans(tokens(text))
        if not spans:
            raise Unmatched(f"no problem's text occurs in {shown(text)}")
        hits = [index for index, span in sorted(spans.items()) if not _is_inside_another(span, spans.values())]
        return self._tell_apart(hits, candidates)

    def _find_spans(self, words: Sequence[str]) -> dict[int, tuple[int, int]]:
        """The problems whose text is a part of some words.

        By the index of the problem, the indices of its first word and of the word after its last.
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
        """Select the problem with the given candidates and pronoun.

        The problems have the same text. Returns its index, or several if it is repeated exactly. Raises Unmatched if
        none fits, or different ones do.

        Parameters
        ----------
        hits
            Indices of problems with the same text.
        candidates
            Candidates that it must have, in any order, or None.
        like
            A problem whose query and pronoun it must have, or None.
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
    """Whether a span is inside a longer one of some spans."""
    start, end = span
    for other_start, other_end in spans:
        is_inside = other_start <= start and end <= other_end
        if is_inside and (other_start, other_end) != span:
            return True
    return False


def _get_text_id(problem: Problem) -> str:
    """The part of a problem's id that exact repetitions share.

    Ids of repetitions differ in the number at their end.
    """
    return problem.id.partition(".")[0]


def _describe_difference(problem: Problem, candidates: Sequence[str] | None, like: Problem | None) -> str:
    """The reason why a problem does not fit, empty if it fits.

    Parameters
    ----------
    candidates
        Candidates that it must have, in any order, or None.
    like
        A problem whose query and pronoun it must have, or None.
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
    """Names of candidates for a message, on one line."""
    lines = [" ".join(name.split()) for name in names]
    return " / ".join(lines)


def shown(text: str) -> str:
    """The beginning of a text for a message, on one line."""
    line = " ".join(text.split())
    return f"'{line[:60]}…'" if len(line) > 60 else f"'{line}'"
