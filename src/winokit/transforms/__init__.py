"""Problems made from problems: a new problem, or the reason why there is none; never a guess."""

from winokit.transforms.binary import binary
from winokit.transforms.choice import choice
from winokit.transforms.judgements import judgements
from winokit.transforms.local_context import local_context
from winokit.transforms.no_cands import no_cands
from winokit.transforms.pairs import non_associative, special_word_pairs
from winokit.transforms.part_sent import part_sent
from winokit.transforms.special_word import special_word_problem
from winokit.transforms.substitute import Filled, substitute
from winokit.transforms.switch import by_label_or_rule, looks_switchable, switch

VIEWS = {"binary": binary, "choice": choice, "judgements": judgements}
"""What `--as` can ask for: the same problems in another form."""

__all__ = [
    "VIEWS",
    "Filled",
    "binary",
    "by_label_or_rule",
    "choice",
    "judgements",
    "local_context",
    "looks_switchable",
    "no_cands",
    "non_associative",
    "part_sent",
    "special_word_pairs",
    "special_word_problem",
    "substitute",
    "switch",
]
