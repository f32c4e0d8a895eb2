"""Word a question by a template with named places.

A user may replace the template (`--prompt FILE`).

Places are written in braces, and a brace itself twice. Of a problem about a jug and a cup, `{sentence}` is the text
with its blank, or with asterisks around its pronoun; `{question}` asks for it; `{options}` lists "A. the jug" and "B.
the cup", one per line; `{letters}` is "A or B". A model that scores the candidates themselves has them without letters,
and a yes/no question has yes and no. A choice between whole texts has no `{sentence}`: they stand in `{options}`.
"""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter

from winokit.errors import BadInput, Malformed
from winokit.files import read_text

PLACES = ("sentence", "question", "options", "letters")
KNOWN = f": {', '.join(f'{{{name}}}' for name in PLACES)} are places, and a brace itself is written twice"


@dataclass(frozen=True)
class PromptTemplate:
    """The wording of a question, with places for the problem's parts.

    Solved problems put before it are worded the same, each with its answer after it.

    >>> PromptTemplate("{sentence} {question}").fill(sentence="It fell.", question="What fell?")
    'It fell. What fell?'
    """

    text: str
    file: str = field(default="prompt", compare=False)

    def __post_init__(self) -> None:
        for number, line in enumerate(self.text.splitlines(), 1):
            try:
                wrong = next((part for part in Formatter().parse(line) if not _is_place(part)), None)
            except ValueError:
                raise Malformed(f"a brace that opens or closes nothing{KNOWN}", file=self.file, line=number) from None
            if wrong is not None:
                raise Malformed(f"no place named {{{wrong[1]}}}{KNOWN}", file=self.file, line=number)
        self.require("sentence", "options")

    def require(self, *places: str) -> None:
        """Raise BadInput if the template has none of these places.

        Without them there is no question.
        """
        text = self.text.replace("{{", "").replace("}}", "")
        if not any(f"{{{place}}}" in text for place in places):
            raise BadInput(f"{self.file}: the prompt must contain {{{places[0]}}}")

    def fill(self, **places: str) -> str:
        """Template with its places replaced by these values."""
        return self.text.format(**places)

    @property
    def name(self) -> str:
        """Short hash of the template, which names it in results."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:8]


def _is_place(part: tuple[str, str | None, str | None, str | None]) -> bool:
    """Whether a parsed part of a line has no invalid place."""
    _, name, style, conversion = part
    return name is None or (name in PLACES and not style and conversion is None)


def read_prompt(prompt: str | Path | PromptTemplate | None) -> PromptTemplate | None:
    """Read a template from its file, if it is not one already.

    A newline at the end of the file is not part of it.
    """
    if prompt is None or isinstance(prompt, PromptTemplate):
        return prompt
    return PromptTemplate(read_text(Path(prompt)).removeprefix("\ufeff").removesuffix("\n"), str(prompt))


LETTERED = PromptTemplate(
    "Text: {sentence}\nQuestion: {question}\n{options}\nAnswer with {letters} only.\nAnswer:", "the prompt for letters"
)
OPEN = PromptTemplate("Text: {sentence}\nQuestion: {question}\nAnswer:", "the prompt without options")
WHOLE_LETTERED = PromptTemplate(
    "Question: {question}\n{options}\nAnswer with {letters} only.\nAnswer:", "the prompt for whole texts with letters"
)
WHOLE_OPEN = PromptTemplate("Question: {question}\n{options}\nAnswer:", "the prompt for whole texts")
