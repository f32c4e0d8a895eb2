"""An answer in words, as a harness logs it: which of the candidates it means."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from winokit.data.predictions.match import option_behind, which
from winokit.text.english import ENGLISH

UNREAD = "no answer could be read"
VERDICTS = ("C", "I", "P", "N")
ANSWER = re.compile(r"^[^\w\n]*answer[^\w\n]*:[^\w\n]*(\w[^\n]*?)[^\w\n]*$", re.IGNORECASE | re.MULTILINE)


class AnswerReading:
    """How an answer becomes the place of one of the candidates."""

    def __init__(self, candidates: Sequence[str], lettered: bool, prompt: str) -> None:
        self.candidates, self.lettered, self.prompt = candidates, lettered, prompt

    def chosen(self, score: Mapping[str, Any], completion: str, gold: int | None, verdict: bool | None) -> int | None:
        """The choice of a scored sample: what the scorer read, else what its verdict and the completion say."""
        answer, value = score.get("answer"), score.get("value")
        read = self.stated(answer) if isinstance(answer, str) else None
        if read is None and isinstance(value, str) and value not in VERDICTS:
            read = self.exactly(value)
        if read is None and verdict is True:
            return gold
        if read is None and (verdict is False or not score):
            read = self.stated(completion)
        if read is None and verdict is False:
            mentioned = self.mentioned(completion)
            return mentioned if mentioned != gold else None
        return read

    def exactly(self, answer: str) -> int | None:
        """A letter, or a candidate's own words."""
        answer = answer.strip()
        if len(answer) == 1 and answer.upper() in string.ascii_uppercase:
            place = string.ascii_uppercase.index(answer.upper())
            if self.lettered:
                return place if place < len(self.candidates) else None
            listed = option_behind(answer, self.prompt)
            return which(listed, self.candidates) if listed is not None else None
        return which(answer, self.candidates)

    def stated(self, text: str) -> int | None:
        """An answer by itself, or after the last "ANSWER:"."""
        answers = ANSWER.findall(text)
        return self.exactly(answers[-1] if answers else text)

    def mentioned(self, text: str) -> int | None:
        """The one candidate that a text mentions at all."""
        places = [place for place, name in enumerate(self.candidates) if ENGLISH.mention_places(text, name)]
        return places[0] if len(places) == 1 else None
