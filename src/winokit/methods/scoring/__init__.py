"""Model + problem -> score per candidate. One short file a scoring."""

from winokit.methods.scoring import (
    ask,
    attention,
    full,
    masked_candidate,
    own,
    partial,
    pronoun,
    pseudo_likelihood,
    special_word,
)
from winokit.methods.scoring.base import DEFAULTS, SCORINGS, Scoring, Setting, choose_scoring, default_scoring
from winokit.methods.scoring.cache import Cache, CacheFile, default_path, open_cache
from winokit.methods.scoring.features import embed
from winokit.methods.scoring.planner import answer_all
from winokit.methods.scoring.scorer import (
    Prediction,
    ScoringPlan,
    check_replaceable,
    close_calls,
    score,
    score_variants,
    write_predictions,
)

__all__ = [
    "DEFAULTS",
    "SCORINGS",
    "Cache",
    "CacheFile",
    "Prediction",
    "Scoring",
    "ScoringPlan",
    "Setting",
    "answer_all",
    "check_replaceable",
    "choose_scoring",
    "close_calls",
    "default_path",
    "default_scoring",
    "embed",
    "open_cache",
    "score",
    "score_variants",
    "write_predictions",
]
