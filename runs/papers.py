"""The papers' own numbers, beside which tables set ours, in per cent unless a comment says otherwise.

What `stages.audit.published` knows already (Trichelair et al.'s Tables 2 and 3, Elazar et al.'s Tables 1, 3 and 6,
WinoGrande's Tables 5 and 6) is taken from there.
"""

from __future__ import annotations

from collections.abc import Sequence

from winokit.stages.audit.published import published


def published_cells(known_set: str, protocol: str, cells: Sequence[tuple[str, str]]) -> dict[str, tuple[float, ...]]:
    """Published values on a known dataset in per cent, by system.

    `cells` are (subset, metric) names under one protocol. A system that lacks one of them is left out.
    """
    values_by_system: dict[str, dict[tuple[str, str], float]] = {}
    for fact in published(known_set):
        if fact.protocol == protocol:
            values = values_by_system.setdefault(fact.system, {})
            values[fact.subset, fact.metric] = round(100 * fact.value, 4)
    complete = {}
    for system, values in values_by_system.items():
        if all(cell in values for cell in cells):
            complete[system] = tuple(values[cell] for cell in cells)
    return complete


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
WINOGRANDE_TABLE_5_TRAINED = {"wsc273": 77.6, "pdp": 75.0, "dpr-test": 86.9, "copa-test": 81.0}
"""BERT-large trained on WinoGrande (the same, Table 5)."""
WINOGRANDE_TABLE_6 = {
    # female: not gotcha, gotcha; male: not gotcha, gotcha, of BERT-large by what it was trained on (the same, Table 6)
    "wsc": (44.2, 61.7, 64.2, 45.0),
    "dpr": (58.3, 45.0, 44.2, 60.8),
    "debiased": (69.2, 65.0, 65.0, 68.3),
    "xl": (83.3, 76.7, 76.7, 80.8),
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

AAAI_RESULTS = {
    # RoBERTa-large trained on WinoGrande (the same); what our notes do not have is said so
    "wsc273": 90.1,
    "pdp": "not in the notes",
    "superglue-wsc-val": "not in the notes",
    "dpr-test": 93.1,
    "knowref": 85.6,
    "copa-test": 90.6,
    "winogender": 97.1,
}

LIU_TABLE_2 = {
    # SuperGLUE-WSC's test score; standard deviation and kurtosis over 60 runs, SuperGLUE-WSC and WinoGrande-m
    "mc-mlm": (86, "2, 3", "3, 13"),
    "mc-sent": (77, "7, −1", "5, 4"),
    "mc-sent-no-softmax": (77, "8, −1", "4, 3"),
    "mc-sent-no-pair-loss": (86, "6, 5", "1, 1"),
    "p-sent": (67, "5, 24", "2, 28"),
    "p-span": (80, "4, 0", "7, −2"),
}

TRICHELAIR_ASSOCIATIVE = (13.5, 86.5)
"""Trichelair et al., 2018, Table 1: associative, and not."""
TRICHELAIR_LUCK = {"one": 0.04, "best of ten": 0.37}
"""The same, appendix B: probabilities."""

SQUARE_ONE_TABLE_1 = {
    # Elazar et al., 2021: single and group scores of RoBERTa-large trained on WinoGrande
    ("wsc", "original"): (89.71, 79.41),
    ("wsc", "no-cands"): (60.72, 40.35),
    ("wsc", "part-sent"): (64.88, 33.88),
    ("wsc-na", "original"): (89.45, 79.09),
    ("wsc-na", "no-cands"): (58.06, 34.41),
    ("wsc-na", "part-sent"): (59.90, 25.00),
    ("winogrande", "original"): (71.49, 58.45),
    ("winogrande", "no-cands"): (53.07, 31.05),
    ("winogrande", "part-sent"): (53.11, 22.34),
}
SQUARE_ONE_TABLE_6 = {
    # the same with the MLM head
    ("wsc", "original"): (89.71, 80.88),
    ("wsc", "no-cands"): (60.96, 29.82),
    ("wsc", "part-sent"): (59.09, 22.31),
    ("wsc-na", "original"): (90.00, 81.82),
    ("wsc-na", "no-cands"): (59.14, 25.81),
    ("wsc-na", "part-sent"): (56.77, 16.67),
    ("winogrande", "original"): (70.95, 54.23),
    ("winogrande", "no-cands"): (54.87, 17.69),
    ("winogrande", "part-sent"): (54.43, 14.18),
}
SQUARE_ONE_CURVES = {
    # the same, Tables 4 and 5: by loss and training problems, single and group of BERT, RoBERTa, ALBERT
    "mc-sent": {
        0: ("53.0, 8.7", "56.4, 16.6", "55.6, 17.2"),
        100: ("53.5, 11.7", "52.8, 10.2", "58.2, 19.9"),
        1000: ("51.4, 15.3", "50.4, 16.3", "62.5, 42.9"),
        4000: ("49.0, 21.7", "49.7, 18.9", "67.4, 55.7"),
        8000: ("48.3, 29.3", "50.4, 39.3", "67.4, 55.4"),
        16000: ("54.9, 39.3", "60.4, 53.1", "76.8, 64.2"),
    },
    "mc-mlm": {
        0: ("53.0, 8.7", "56.4, 16.6", "55.6, 17.2"),
        100: ("54.4, 12.3", "55.5, 17.6", "56.1, 17.5"),
        1000: ("51.8, 12.3", "58.3, 35.6", "62.9, 34.9"),
        4000: ("52.5, 16.6", "61.1, 37.3", "64.1, 40.5"),
        8000: ("53.7, 22.9", "62.2, 39.4", "68.1, 50.7"),
        16000: ("53.7, 27.1", "61.1, 41.7", "70.8, 55.3"),
    },
}
SQUARE_ONE_MATCHED = {"original": (66.10, 55.93), "special word": (70.06, 64.97)}
"""Elazar et al., 2021, section 6.1: RoBERTa-large trained on either form of the same pairs; single, group, on dev."""
SQUARE_ONE_UNTRAINED = {"BERT-large": (52.99, 8.67), "RoBERTa-large": (56.39, 16.61), "ALBERT-xxlarge": (55.55, 17.23)}
"""The same, Tables 4 and 5, without training: single, group, on the re-split test set."""
SQUARE_ONE_PAIRS = 969
"""Pairs in that set."""
SQUARE_ONE_ZERO_SHOT_NA: dict[str, tuple[float, ...]] = {
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
    # Numbers that the pages' prose may have although no generated table does, by the section's anchor: settings, and
    # what a paper says. Whatever was measured here belongs into a table.
    "everywhere": "95 5 50 25",
    "what-it-says": "79.1 94 89",
}
