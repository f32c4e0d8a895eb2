"""Names that other packages build on: registries, and what additions need.

`winokit` is for those who use the library, `winokit.extend` for those who add to it: formats, transforms, protocols,
scorings, models, formalizations, debias methods, languages and verbs. No other module is promised to keep its place;
`winokit_collect`, the web app, imports from these two alone. A name is imported when it is first asked for.

>>> from winokit.extend import TRANSFORMS
>>> "switched" in TRANSFORMS
True
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from winokit.cli.options import command
    from winokit.data.checks import rules as twin_rules
    from winokit.data.checks.groups import group_name
    from winokit.data.checks.statistics import special_words
    from winokit.data.formats import WriteOptions
    from winokit.data.formats import fields as row_fields
    from winokit.data.formats.base import FORMATS, json_format
    from winokit.data.loading import AsWrittenLimited, Data, Loading
    from winokit.data.loading import in_language as with_language
    from winokit.drawing.page import write_lines_page
    from winokit.drawing.tables import Lines, table
    from winokit.errors import BadInput, Malformed, Message, MissingExtra
    from winokit.files import private as owner_only
    from winokit.files import read_text, result_bytes, write_whole
    from winokit.methods.aflite.methods import METHODS as DEBIAS_METHODS
    from winokit.methods.aflite.methods import DebiasArm, DebiasMethod, DebiasRows, Seed, Size
    from winokit.methods.formalizations.base import COMPARING, FORMALIZATIONS, Definition, Loss, Switches
    from winokit.methods.formalizations.batch import Batch
    from winokit.methods.formalizations.heads import FirstToken, highest
    from winokit.methods.formalizations.inputs import SENTENCE_SWITCHES, SENTENCES
    from winokit.methods.metrics.agreement import fleiss_kappa, gwet_ac1
    from winokit.methods.metrics.groups import group_accuracy
    from winokit.methods.metrics.intervals import wilson as wilson_interval
    from winokit.methods.scoring.base import SCORINGS, Abstain, Scoring, Setting
    from winokit.methods.scoring.base import total as total_logprob
    from winokit.methods.scoring.scorer import Prediction, ScoringPlan, score_variants, write_predictions
    from winokit.methods.transforms.local_context import local_context
    from winokit.methods.transforms.part_sent import part_sent
    from winokit.methods.transforms.substitute import substitute
    from winokit.methods.transforms.switch import switch
    from winokit.methods.transforms.variants import TRANSFORMS, Variant, one_by_one
    from winokit.models.base import Answer, Choose, Continuation, Model, Request, Scores
    from winokit.models.base import cannot as cannot_answer
    from winokit.models.registry import MODELS, Spec
    from winokit.problem import BLANK, ORIGINAL, Card, Dataset, Problem, grouped
    from winokit.progress import Progress, tell, telling
    from winokit.registry import Registry
    from winokit.results import Brief, Metric, decide
    from winokit.settings import DATA_HELP, Help, verb
    from winokit.stages.audit.protocols import PROTOCOLS, protocol
    from winokit.stages.audit.sheet import AuditSheet
    from winokit.text.language import LANGUAGES, Language, language_of
    from winokit.text.language import check_code as check_language_code
    from winokit.text.language import left_out as missing_abilities

__all__ = [
    "BLANK",
    "COMPARING",
    "DATA_HELP",
    "DEBIAS_METHODS",
    "FORMALIZATIONS",
    "FORMATS",
    "LANGUAGES",
    "MODELS",
    "ORIGINAL",
    "PROTOCOLS",
    "SCORINGS",
    "SENTENCES",
    "SENTENCE_SWITCHES",
    "TRANSFORMS",
    "Abstain",
    "Answer",
    "AsWrittenLimited",
    "AuditSheet",
    "BadInput",
    "Batch",
    "Brief",
    "Card",
    "Choose",
    "Continuation",
    "Data",
    "Dataset",
    "DebiasArm",
    "DebiasMethod",
    "DebiasRows",
    "Definition",
    "FirstToken",
    "Help",
    "Language",
    "Lines",
    "Loading",
    "Loss",
    "Malformed",
    "Message",
    "Metric",
    "MissingExtra",
    "Model",
    "Prediction",
    "Problem",
    "Progress",
    "Registry",
    "Request",
    "Scores",
    "Scoring",
    "ScoringPlan",
    "Seed",
    "Setting",
    "Size",
    "Spec",
    "Switches",
    "Variant",
    "WriteOptions",
    "cannot_answer",
    "check_language_code",
    "command",
    "decide",
    "fleiss_kappa",
    "group_accuracy",
    "group_name",
    "grouped",
    "gwet_ac1",
    "highest",
    "json_format",
    "language_of",
    "local_context",
    "missing_abilities",
    "one_by_one",
    "owner_only",
    "part_sent",
    "protocol",
    "read_text",
    "result_bytes",
    "row_fields",
    "score_variants",
    "special_words",
    "substitute",
    "switch",
    "table",
    "tell",
    "telling",
    "total_logprob",
    "twin_rules",
    "verb",
    "wilson_interval",
    "with_language",
    "write_lines_page",
    "write_predictions",
    "write_whole",
]


def _read_homes() -> dict[str, tuple[str, str]]:
    """Module and original name of each export.

    They are read from the imports above.
    """
    homes = {}
    for node in ast.walk(ast.parse(Path(__file__).read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                homes[alias.asname or alias.name] = (node.module, alias.name)
    return {name: homes[name] for name in __all__}


if not TYPE_CHECKING:  # A type checker would take any name from a module that has a `__getattr__`.
    _HOMES = _read_homes()

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'winokit.extend' has no attribute {name!r}")
        module, original = _HOMES[name]
        return getattr(__import__(module, fromlist=[original]), original)  # which finds modules of a package, too

    def __dir__() -> list[str]:
        return list(__all__)
