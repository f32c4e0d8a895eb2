"""Texts matched to problems: which problem a row of somebody's log is about, and which candidate it speaks of.

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
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from winokit.methods.transforms.variants import PERTURBED, TRANSFORMS, Variant, make_variants
from winokit.problem import ORIGINAL, Dataset, Problem, folded_text, grouped, original_id
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
    """One prediction as its file states it. Indices and scores follow the row's own order of candidates."""

    place: str
    """Where it stands, for messages: "line 12", "sample 3"."""
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
    """Which of several answers to one problem, from 0; None where the file has one each."""


class Unmatched(Exception):
    """A row that is about no problem, or about nobody knows which; the message is the reason."""


def tokens(text: str) -> list[str]:
    """The words of a text, case and punctuation forgotten; whatever stands for the blank becomes `_`.

    >>> tokens("Tom's dog bit [BLANK] -- twice!"), tokens("tom ’s dog bit ____ twice")
    (['tom', 's', 'dog', 'bit', '_', 'twice'], ['tom', 's', 'dog', 'bit', '_', 'twice'])
    """
    return TOKEN.findall(BLANKS.sub(" _ ", unicodedata.normalize("NFKC", text)).casefold())


def align(offered: Sequence[str], candidates: Sequence[str], language: str = "en") -> tuple[int, ...] | None:
    """For each name offered the place of its candidate, or None unless they are the same candidates in some order.

    >>> align(["The cup", "jug"], ["the jug", "the cup"]), align(["the cup", "Nora"], ["the jug", "the cup"])
    ((1, 0), None)
    """
    if len(offered) != len(candidates):
        return None
    if tuple(offered) == tuple(candidates):
        return tuple(range(len(candidates)))
    places = [which(name, candidates, language) for name in offered]
    order = tuple(place for place in places if place is not None)
    return order if len(set(order)) == len(candidates) else None


def which(name: str, candidates: Sequence[str], language: str = "en") -> int | None:
    """The place of the one candidate that a name means, whatever its case, article, punctuation or possessive.

    >>> which("des Koffers", ["der Pokal", "der Koffer"], "de")
    1
    """
    return _which(name, tuple(candidates), language)


@lru_cache(1 << 16)  # the same few names in every file about a dataset
def _which(name: str, candidates: tuple[str, ...], language: str) -> int | None:
    for key in (lambda text, language: folded_text(text), _worded, _owner):
        wanted = key(name, language)
        places = [place for place, candidate in enumerate(candidates) if key(candidate, language) == wanted]
        if places:
            return places[0] if len(places) == 1 and wanted else None
    pack = language_of(language)
    if pack.name == "English" or pack.refusal("candidates"):
        return None
    said = pack.core(name.strip(" .,;:!?\"'“”„«»"))  # in another case: it is a form of the candidate, from end to end
    places = [at for at, candidate in enumerate(candidates) if (0, len(said)) in pack.mention_places(said, candidate)]
    return places[0] if len(places) == 1 else None


def _worded(name: str, language: str) -> str:
    return " ".join(tokens(language_of(language).bare(name)))


def _owner(name: str, language: str) -> str:
    """The name without the possessive that lm-evaluation-harness gives it where "his" stood."""
    return _worded(POSSESSIVE.sub("", name.strip()), language)


def align_difference(texts: Sequence[str], candidates: Sequence[str], language: str = "en") -> tuple[int, ...] | None:
    """For each of several long texts the place of the candidate that it has and the others have not.

    What is left of the texts without their common start and end must be what is left of the candidates.

    >>> align_difference(["hid the green car.", "hid the black car."], ["black car", "green car"])
    (1, 0)
    """
    if len(texts) != len(candidates):
        return None
    differing = _without_common([tokens(text) for text in texts])
    bare = language_of(language).bare
    for names in ([tokens(name) for name in candidates], [tokens(bare(name)) for name in candidates]):
        kept = _without_common(names)
        if len(set(kept)) == len(kept) and sorted(kept) == sorted(differing):
            return tuple(kept.index(part) for part in differing)
    return align([" ".join(part) for part in differing], candidates, language)


def _without_common(lists: list[list[str]]) -> list[tuple[str, ...]]:
    """Each list without the start and the end that all have in common."""
    start = _in_common(lists)
    end = _in_common([words[start:][::-1] for words in lists])
    return [tuple(words[start : len(words) - end]) for words in lists]


def _in_common(lists: list[list[str]]) -> int:
    """How many of their first words all lists have in common."""
    return sum(1 for _ in takewhile(lambda words: len(set(words)) == 1, zip(*lists, strict=False)))


def option_behind(label: str, prompt: str) -> str | None:
    r"""What a prompt lists behind a letter or number; with solved examples before it, the last list counts.

    >>> option_behind("B", "Who is she?\nA) Nora\nB) Ines\nAnswer:")
    'Ines'
    """
    pattern = rf"^[ \t]*\(?{re.escape(label.strip())}[).:][ \t]*(\S.*)$"
    options = re.findall(pattern, prompt, re.MULTILINE | re.IGNORECASE) if label.strip() else []
    return options[-1].strip() if options else None


class Matcher:
    """The problems of a dataset, to be found by id, by text, or inside a longer text; and so for each of its variants.

    Parameters
    ----------
    versions
        Variants that are read, and cannot be made of the dataset.
    """

    def __init__(self, dataset: Dataset, versions: Mapping[str, Variant] | None = None) -> None:
        self.dataset, self.versions = dataset, versions or {}
        self._variants: dict[str, Matcher] = {ORIGINAL: self}
        self._found: dict[tuple[Any, ...], tuple[int, ...] | str] = {}
        """What was asked before: files about one dataset have the same texts."""

    def of(self, variant: str) -> "Matcher":
        """The problems of a variant; none where it cannot be made of any."""
        if variant not in self._variants:
            if variant not in self.versions and variant not in TRANSFORMS:
                known = "name its file with --perturbed" if variant.startswith(PERTURBED) else "no such transform"
                raise Unmatched(f"variant {variant!r}: {known}")
            made = self.versions if variant in self.versions else make_variants(self.dataset, {variant})
            self._variants[variant] = Matcher(made[variant].problems if variant in made else Dataset([]))
        return self._variants[variant]

    def own(self, document: "LoggedDocument") -> tuple[int, ...]:
        """The place of the problem that a document of winokit's is about; Unmatched where its text is another."""
        if document.of not in self.by_id:
            raise Unmatched(f"no problem has the id {document.of!r}")
        at = self.of(document.variant)
        place = at.by_origin.get(document.of)
        stated = document.problem
        if place is None or stated is None or _text_id(at.dataset[place]) != _text_id(stated):
            raise Unmatched(f"it is not the {document.variant} problem of {document.of}: written from other data")
        return (self.by_id[document.of],)

    def anywhere(self, find: "Callable[[Matcher], tuple[int, ...]]") -> tuple[str, tuple[int, ...]]:
        """The first variant in which something is found, and the places of the problems that it was made of."""
        refused: Unmatched | None = None
        for variant in self._names:
            try:
                at = self.of(variant)
                hits = find(at)
            except Unmatched as reason:
                refused = refused or reason
            else:
                return variant, tuple(self.by_id[original_id(at.dataset[hit])] for hit in hits)
        raise refused or Unmatched("there are no problems")

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """Every variant that there may be; listing the transforms asks all packages that are installed."""
        return (ORIGINAL, *self.versions, *TRANSFORMS)

    @cached_property
    def by_origin(self) -> dict[str, int]:
        """Places by the id of the problem that each was made of."""
        return {original_id(problem): place for place, problem in enumerate(self.dataset)}

    @cached_property
    def ids(self) -> list[str]:
        """The public id of each problem; each is a hash, so they are made once."""
        return [problem.id for problem in self.dataset]

    @cached_property
    def by_id(self) -> dict[str, int]:
        """Places by public id."""
        return {name: place for place, name in enumerate(self.ids)}

    @cached_property
    def by_source_id(self) -> dict[str, list[int]]:
        """Places by the ids of the source: WinoGrande's qID, SuperGLUE's idx, COPA's id."""
        named = (
            {str(p.provenance[key]) for key in SOURCE_IDS if p.provenance.get(key) is not None} for p in self.dataset
        )
        return grouped((name, place) for place, names in enumerate(named) for name in names)

    @cached_property
    def by_document_hash(self) -> dict[str, list[int]]:
        """Places by the hash that lm-evaluation-harness gives the document of a problem, with a qID and without."""
        pairs: list[tuple[str, int]] = []
        for place, problem in enumerate(self.dataset):
            options = {f"option{number}": name for number, name in enumerate(problem.candidates, 1)}
            answer = "" if problem.answer is None else str(problem.answer + 1)
            document = {"sentence": problem.text, **options, "answer": answer}
            own = [document]
            if "qID" in problem.provenance:
                own.append({"qID": str(problem.provenance["qID"]), **document})
            for each in own:
                written = json.dumps(each, indent=2, ensure_ascii=False)
                pairs.append((sha256(written.encode()).hexdigest(), place))
        return grouped(pairs)

    @cached_property
    def _texts(self) -> tuple[dict[str, list[int]], ...]:
        """Places by text to the letter, by its words, and by the words of the sentence with its pronoun, or premise."""
        said = (p.labels.get("premise", None if p.pronoun is None else p.sentence) for p in self.dataset)
        exact = [(problem.text, place) for place, problem in enumerate(self.dataset)]
        worded = ((" ".join(tokens(text)), place) for text, place in exact)
        spoken = ((" ".join(tokens(str(text))), place) for place, text in enumerate(said) if text is not None)
        return grouped(exact), grouped(worded), grouped(spoken)

    @cached_property
    def _starts(self) -> dict[tuple[str, ...], list[tuple[list[str], int]]]:
        """Words and place of each problem, in both forms, by its first words."""
        both = ((tokens(text), place) for place, p in enumerate(self.dataset) for text in {p.text, p.sentence})
        return grouped((tuple(words[:START]), (words, place)) for words, place in both)

    def find(self, text: str, candidates: Sequence[str] | None = None, like: Problem | None = None) -> tuple[int, ...]:
        """The place of the one problem with this text, or of its exact repetitions; else raises Unmatched.

        Candidates, in whatever order, and query and pronoun of `like` tell problems with one text apart.
        """
        asked = (text, None if candidates is None else tuple(candidates), like)
        if asked not in self._found:
            self._found[asked] = self._looked_up(*asked)
        outcome = self._found[asked]
        if isinstance(outcome, str):
            raise Unmatched(outcome)
        return outcome

    def _looked_up(self, text: str, candidates: Sequence[str] | None, like: Problem | None) -> tuple[int, ...] | str:
        """The places, or why there are none."""
        words = " ".join(tokens(text))
        refused = ""
        exact, worded, spoken = self._texts
        for hits in (exact.get(text), worded.get(words), spoken.get(words)):
            if hits and words:
                try:
                    return self._told_apart(hits, candidates, like)
                except Unmatched as reason:
                    refused = refused or str(reason)
        return refused or f"no problem has the text {shown(text)}"

    def find_inside(self, text: str, candidates: Sequence[str] | None = None) -> tuple[int, ...]:
        """The place of the one problem whose whole text stands inside a longer one; else raises Unmatched.

        A problem whose text is part of another's that stands there too is not meant.
        """
        words = tokens(text)
        spans: dict[int, tuple[int, int]] = {}
        for at in range(len(words)):
            for size in range(1, START + 1):
                for known, place in self._starts.get(tuple(words[at : at + size]), ()):
                    if words[at : at + len(known)] == known:
                        spans[place] = (at, at + len(known))
        if not spans:
            raise Unmatched(f"no problem's text occurs in {shown(text)}")
        whole = [
            place
            for place, (start, end) in sorted(spans.items())
            if not any(a <= start and end <= b and (a, b) != (start, end) for a, b in spans.values())
        ]
        return self._told_apart(whole, candidates)

    def _told_apart(
        self, hits: Sequence[int], candidates: Sequence[str] | None, like: Problem | None = None
    ) -> tuple[int, ...]:
        """Those hits that nothing known speaks against, if they are one problem, repeated or not."""
        differences = {hit: _difference(self.dataset[hit], candidates, like) for hit in hits}
        fitting = [hit for hit, difference in differences.items() if not difference]
        if not fitting:
            raise Unmatched(f"a problem has its text, and {differences[hits[0]]}")
        if len(fitting) > 1 and len({_text_id(self.dataset[hit]) for hit in fitting}) > 1:
            examples = ", ".join(self.ids[hit] for hit in fitting[:3])
            raise Unmatched(f"{len(fitting)} problems match it, among them {examples}")
        return tuple(fitting)


def _text_id(problem: Problem) -> str:
    """What repetitions have in common of their ids, which end in the number of their occurrence."""
    return problem.id.partition(".")[0]


def _difference(problem: Problem, candidates: Sequence[str] | None, like: Problem | None) -> str:
    """What speaks against a problem, in words; empty where nothing does."""
    if candidates is not None and align(candidates, problem.candidates, problem.language) is None:
        return f"the candidates {listed(problem.candidates)}, not {listed(candidates)}"
    bare = language_of(problem.language).bare
    for name in ("query", "pronoun"):
        mine, its = getattr(like, name, None), getattr(problem, name)
        if mine is not None and its is not None and bare(mine) != bare(its):
            return f"the {name} {its!r}, not {mine!r}"
    return ""


def listed(names: Iterable[str]) -> str:
    """Candidates for a message, on one line."""
    return " / ".join(" ".join(name.split()) for name in names)


def shown(text: str) -> str:
    """A text for a message: its beginning, on one line."""
    line = " ".join(text.split())
    return f"'{line[:60]}…'" if len(line) > 60 else f"'{line}'"
