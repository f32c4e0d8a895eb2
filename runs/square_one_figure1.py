"""Back to Square One (Elazar et al., 2021), Figure 1: one pair of twins, its two baselines and its special words.

No model is asked. Every variant is made as the paper says, as the released code does it, and as winokit does it.
"""

from __future__ import annotations

from common import Options, Outcome, run, table

from winokit.methods.transforms.no_cands import no_cands
from winokit.methods.transforms.part_sent import part_sent
from winokit.methods.transforms.special_word import special_word_pairs
from winokit.problem import Problem

WORDS = "trophy doesn't fit"
STYLES = ("paper", "code", "default")


def experiment(options: Options) -> Outcome:
    """The variants of the first twin, and both special-word texts."""
    wsc = options.wsc273()
    twins = wsc.filter(lambda problem: WORDS in problem.text)
    lines = [("original", "", problem.sentence, problem.right) for problem in twins]
    for name, make in (("no-cands", no_cands), ("part-sent", part_sent)):
        lines += [(name, style, told(make(twins[0], style=style)), "?") for style in STYLES]
    for style in ("code", "default"):
        for problem in (one for pair in special_word_pairs(twins, style=style) for one in pair):
            lines.append(("special word", style, problem.text, problem.right))
    return Outcome([table(["variant", "made as", "text", "answer"], lines)], [])


def told(made: Problem | str) -> str:
    """The text, or why there is none."""
    return made if isinstance(made, str) else made.text


if __name__ == "__main__":
    run(experiment, __doc__, models=())
