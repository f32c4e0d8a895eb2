"""Apply chat templates: a question as the user's turn, up to the answer.

`hf:NAME?chat_template=auto` takes the tokenizer's template, `chat_template=FILE` that of a Jinja file. Each option
of an `Ask` is then scored as the whole answer of the assistant, after whatever the template writes before an answer
(`gap`). Solved examples stay before the question, in the same turn.

The template writes BOS and every other special token itself, so none is added to its text. A `Continuation` asks
how a text goes on, which has no place in a conversation. So such scorings (partial, full, special-word, pronoun)
are refused. lm-evaluation-harness makes the context the user's turn instead, and scores the rest as the
assistant's.
"""

import hashlib
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from winokit.errors import BadInput
from winokit.files import read_text

QUESTION = "Which one is it?"
ANSWER = "This-one"
"""Sample question and answer, which show what a template writes around them."""
THOUGHTS = ("<think>", "[THINK]", "<reasoning>", "<seed:think>")


class ChatTemplate:
    """A chat template with its tokenizer.

    `place` names the model in errors. `gap` is the white space that the template writes before an answer.
    """

    def __init__(self, tokenizer: Any, template: str, place: str) -> None:
        self._tokenizer = tokenizer
        self._template = template
        self._place = place
        question_text = self._render_turns(("user", QUESTION))
        if QUESTION not in question_text:
            raise BadInput(f"{place}: the chat template leaves out what the user says")
        answer_text = self._render_turns(("user", QUESTION), ("assistant", ANSWER), answered=True)
        before = ""
        if answer_text.startswith(question_text):
            before = answer_text[len(question_text) :].partition(ANSWER)[0]
        self.gap = before if before.isspace() else ""
        # What it writes is part of it too: some write today's date, or what the tokenizer calls its tokens.
        digest = hashlib.sha256(f"{template}\n{answer_text}".encode())
        self.hash = digest.hexdigest()[:16]
        self.notes: list[str] = []
        if "strftime_now" in template:
            self.notes.append("its chat template writes today's date, so answers depend on the day")
        if question_text.rstrip().endswith(THOUGHTS):
            self.notes.append("its chat template opens a thought, and options are scored inside it")

    @classmethod
    def of(cls, option: str | None, tokenizer: Any, place: str) -> "ChatTemplate | None":
        """Load the template that the option `chat_template` names.

        None without the option. `auto` is the tokenizer's own template, anything else a Jinja file.
        """
        if option is None:
            return None
        if option != "auto":
            return cls(tokenizer, read_text(Path(option).expanduser()), option)
        try:
            return cls(tokenizer, tokenizer.get_chat_template(), place)
        except ValueError as error:
            if isinstance(error, BadInput):
                raise
            raise BadInput(
                f"{place}: its tokenizer has no chat template; name a Jinja file, or leave out chat_template="
            ) from None

    def opened(self, prompt: str) -> tuple[str, str]:
        """The conversation up to the answer, and the gap before it.

        The prompt is the user's turn.
        """
        return self._render_turns(("user", prompt)), self.gap

    def _render_turns(self, *turns: tuple[str, str], answered: bool = False) -> str:
        """Render turns, each a pair of role and content.

        Without `answered`, the text ends where the assistant begins to answer.
        """
        messages = [{"role": role, "content": content} for role, content in turns]
        try:
            text: str = self._tokenizer.apply_chat_template(
                messages, chat_template=self._template, add_generation_prompt=not answered, tokenize=False
            )
        except (TemplateError, ValueError, TypeError, KeyError) as error:
            complaint = " ".join(str(error).split())[:200]
            raise BadInput(f"{self._place}: the chat template cannot be used: {complaint}") from None
        return text
