"""Problems made from problems: a new problem, or the reason why there is none; never a guess."""

from winokit.methods.transforms.binary import binary
from winokit.methods.transforms.choice import choice
from winokit.methods.transforms.judgements import judgements
from winokit.methods.transforms.local_context import local_context
from winokit.methods.transforms.no_cands import no_cands
from winokit.methods.transforms.pairs import non_associative, special_word_pairs
from winokit.methods.transforms.part_sent import part_sent
from winokit.methods.transforms.special_word import special_word_problem
from winokit.methods.transforms.substitute import Filled, substitute
from winokit.methods.transforms.switch import by_label_or_rule, looks_switchable, switch

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
