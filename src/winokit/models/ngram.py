r"""N-gram language models: `ngram:FILE`, an ARPA file or a KenLM binary.

Words are split as in Trinh and Le's "A Simple Method for Commonsense Reasoning" (2018,
https://arxiv.org/abs/1806.02847): punctuation and clitics are words of their own, a word that the model does not
know is tried in lower case before it counts as unknown, <s> comes before the text, and </s> is not scored. One
departure: they add a full stop to a sentence without one, here only the given text is scored.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from math import log
from pathlib import Path
from typing import Any

from winokit.errors import BadInput, needing
from winokit.models.base import Answer, Continuation, NothingToScore, Piece, Pieces, Refusal, Request, cannot
from winokit.models.registry import Spec

PUNCTUATION = ".,?!;:[]'+/£$~*%{}#&-\"()=‘’“”–—−΄´`"
LAST_PART = re.compile(rf"(?:'(?:s|m|t|re|d|ve|ll)|[{re.escape(PUNCTUATION)}])\Z")
TITLES = {"mr.", "ms."}


def load(spec: Spec) -> "NgramModel":
    """Load the n-gram model in the file that a SPEC names."""
    spec.only()
    path = spec.file_or_fail("FILE (ARPA or KenLM binary)")
    return NgramModel(str(spec), path, _open_kenlm(path))


class NgramModel:
    """An n-gram model of KenLM. `counts` is KenLM's model."""

    kind = "causal"
    can: frozenset[type] = frozenset({Continuation})

    def __init__(self, spec: str, path: Path, counts: Any) -> None:
        self.spec = spec
        self._counts = counts
        with path.open("rb") as file:
            self.fingerprint = f"ngram:{hashlib.file_digest(file, 'sha256').hexdigest()}"

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Score the words of each text, in order."""
        for index, request in enumerate(requests):
            if not isinstance(request, Continuation):
                raise cannot(self, request)
            yield index, self._score_words(request)

    def _score_words(self, request: Continuation) -> Pieces | Refusal:
        """Score the words that end within the text of a continuation.

        A word that begins in the context has the text's start as its start. Log-probabilities are natural, though
        KenLM's have base 10.
        """
        whole_text = request.context + request.text
        border = len(request.context)
        spans = word_spans(whole_text)
        words = [whole_text[start:end] for start, end in spans]
        known_words = " ".join(map(self._find_known_form, words))
        scores = self._counts.full_scores(known_words, bos=True, eos=False)
        pieces: list[Piece] = []
        for (start, end), (log10, _, _) in zip(spans, scores, strict=True):
            if end > border:
                piece = Piece(max(start - border, 0), end - border, log10 * log(10))
                pieces.append(piece)
        return tuple(pieces) or NothingToScore(request.text).refusal

    def _find_known_form(self, word: str) -> str:
        """Return a word as the model has it.

        In lower case if the model has only that, else as it is.
        """
        return word if word in self._counts or word.lower() not in self._counts else word.lower()


def word_spans(text: str) -> list[tuple[int, int]]:
    r"""Find the start and end of each word of a text.

    Punctuation marks and clitics such as 's are words of their own.

    >>> text = 'Mr. Hill said: "It isn\'t Ann\'s."'
    >>> [text[start:end] for start, end in word_spans(text)]
    ['Mr.', 'Hill', 'said', ':', '"', 'It', 'isn', "'t", 'Ann', "'s", '.', '"']
    """
    spans = []
    for match in re.finditer(r"\S+", text):
        start, end = match.span()
        if match[0].lower() in TITLES:
            spans.append((start, end))
            continue
        while start < end and text[start] in PUNCTUATION:
            spans.append((start, start + 1))
            start += 1
        behind: list[tuple[int, int]] = []
        while last := LAST_PART.search(text[start:end]):
            behind.insert(0, (start + last.start(), end))
            end = start + last.start()
        if start < end:
            spans.append((start, end))
        spans += behind
    return spans


def _open_kenlm(path: Path) -> Any:
    """Open an ARPA file or a KenLM binary.

    Raises BadInput if it is neither.
    """
    with needing("an n-gram model", "ngram"):
        import kenlm
    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        return kenlm.Model(str(path), config)
    except (OSError, RuntimeError) as error:
        # KenLM names its own source lines first; what it found stands after the name of the exception.
        fault = " ".join(str(error).rpartition("Exception")[2].split()).strip(". ")
        raise BadInput(f"{path}: neither a valid ARPA file nor a KenLM binary: KenLM says: {fault}") from None
