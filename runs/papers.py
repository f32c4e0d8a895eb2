"""The papers' own numbers, which tables set ours beside; in per cent unless a comment says otherwise.

What `stages.audit.published` knows already (Trichelair et al.'s Tables 2 and 3, Elazar et al.'s Tables 1, 3 and 6,
WinoGrande's Tables 5 and 6) is taken from there.
"""

from __future__ import annotations

from collections.abc import Sequence

from winokit.stages.audit.published import published


def published_cells(known_set: str, protocol: str, cells: Sequence[tuple[str, str]]) -> dict[str, tuple[float, ...]]:
    """By system, what is published for a known set under (subset, metric) names, in per cent; systems that have all."""
    facts = {
        (fact.system, fact.subset, fact.metric): round(100 * fact.value, 4)
        for fact in published(known_set)
        if fact.protocol == protocol
    }
    systems = dict.fromkeys(system for system, _, _ in facts)
    return {
        system: tuple(facts[system, *cell] for cell in cells)
        for system in systems
        if all((system, *cell) in facts for cell in cells)
    }


WINOGRANDE_TABLE_2 = {
    # problems, mean length in tokens, vocabulary (Sakaguchi et al., 2019, first version, Table 2)
    "WSC": (273, 19.1, 919),
    "DPR": (1886, 15.9, 4127),
    "PDP": (80, 39.5, 594),
    "COPA": (1000, 13.3, 3369),
    "Winogender": (720, 15.6, 523),
    "WinoBias": (3168, 13.9, 1640),
    "SuperGLUE-WSC": (804, 28.4, 1711),
    "WinoGrande, debiased": (25680, 20.9, 14622),
    "WinoGrande, all": (43985, 20.7, 17468),
}
WINOGRANDE_TABLE_4 = {
    # dev, test (the same, Table 4); 2,863 and 4,279 problems that are not the public ones
    "Random": (50.0, 50.0),
    "Knowledge hunting": (50.8, 50.1),
    "Ensemble of LMs": (53.0, 50.9),
    "OpenAI-GPT": (61.6, 50.7),
    "BERT, as a language model": (53.5, 51.8),
    "BERT, fine-tuned": (53.0, 52.3),
    "BERT, fine-tuned on DPR first": (63.5, 61.6),
    "local context, random 25k": (56.1, 54.1),
    "local context, debiased 25k": (57.0, 55.4),
    "People": (92.0, 90.8),
}
WINOGRANDE_TABLE_5 = {
    # WSC, PDP, DPR, COPA, of systems that were not trained on WinoGrande (the same, Table 5)
    "Knowledge hunting (Emami et al.)": (57.1, "", "", ""),
    "LMs (Trinh and Le)": (63.8, 70.0, "", ""),
    "GPT-2": (70.7, "", "", ""),
    "causal statistics (Gordon et al.)": ("", "", "", 65.4),
}
WINOGRANDE_KL = {"all": 0.66, "random": 0.65, "pmi": 0.46, "aflite": 0.02}
"""Nats, presumably (the same, Figure 1)."""
WINOGRANDE_FIRST_AFLITE = {"ensemble_size": 64, "train_size": 15_000, "cutoff": 500, "threshold": 0.75}
WINOGRANDE_AAAI_AFLITE = {"ensemble_size": 64, "train_size": 10_000, "cutoff": 500, "threshold": 0.75}

AAAI_PEOPLE = 94.0
"""Sakaguchi et al., 2020, abstract."""
AAAI_SIZE_FOR_PEOPLE = 118_000
"""The size at which its learning curve is said to arrive there."""
AAAI_TOTAL = 43_972
AAAI_NOT_TWINS = 33.3
"""Share of debiased questions said to have lost their twin ("about 1/3")."""

TRICHELAIR_ASSOCIATIVE = (13.5, 86.5)
"""Trichelair et al., 2018, Table 1: associative, and not."""
TRICHELAIR_LUCK = {"one": 0.04, "best of ten": 0.37}
"""The same, appendix B: probabilities."""

SQUARE_ONE_MATCHED = {"original": (66.10, 55.93), "special word": (70.06, 64.97)}
"""Elazar et al., 2021, section 6.1: RoBERTa-large trained on either form of the same pairs; single, group, on dev."""
SQUARE_ONE_UNTRAINED = {"BERT-large": (52.99, 8.67), "RoBERTa-large": (56.39, 16.61), "ALBERT-xxlarge": (55.55, 17.23)}
"""The same, Tables 4 and 5, without training: single, group, on the re-split test set."""
SQUARE_ONE_PAIRS = 969
"""Pairs in that set."""
SQUARE_ONE_ZERO_SHOT_NA = {
    # the same, Table 3, WSC-na: single, group
    "BERT-base": (54.79, 12.33),
    "BERT-large": (60.27, 21.92),
    "RoBERTa-base": (60.27, 21.92),
    "RoBERTa-large": (71.23, 42.47),
    "ALBERT-base": (55.48, 12.33),
    "ALBERT-xxlarge": (77.40, 54.79),
}
SQUARE_ONE_SIZES = {
    # special-word problems left: as the text says, and as Table 3's shares imply
    "WSC": (226, 184),
    "WSC-na": (180, 146),
    "WinoGrande": (354, 288),
}
SQUARE_ONE_ROBERTA = {"all": 78.3, "twins": 71.49, "groups": 58.45}
"""The same, section 5.1: RoBERTa-large on dev; all problems, those with a twin, pairs."""

STATED = {
    # Numbers that the page's prose may have although no generated table does, by the section's anchor: settings, and
    # what a paper says. Whatever was measured here belongs into a table.
    "everywhere": "95 5 50 25 22.7",
    "the-papers-experiments-run-again": "0.5",
    "figure-1-divergence-before-and-after-aflite": "0.75",
    "the-learning-curve-and-its-fit": "4.8463 26.215 94.0 59.4 79.1",
    "figure-1-distributions-over-60-runs": "21.1 10.5",
}
