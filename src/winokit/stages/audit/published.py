"""Results that papers report for the same problems under the same protocol. Facts with sources; no other numbers.

Read from the five papers: WinoGrande's first version and its AAAI version, Elazar et al., Liu et al., Trichelair et
al. WinoGrande's first version was measured on other problems than the public ones (2,863 dev problems, not 1,267), so
its own rows are left out here; its results on other datasets are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from winokit.drawing.protocols import ELAZAR, LIU, SAKAGUCHI, SAKAGUCHI_FIRST, TRICHELAIR, Citation


@dataclass(frozen=True, slots=True)
class PublishedFact:
    """One published number, named as a row of results.json is."""

    protocol: str
    subset: str
    metric: str
    system: str
    value: float
    source: Citation
    where: str
    people: bool = False
    n: int | None = None
    note: str = ""


def published(known_set: str) -> tuple[PublishedFact, ...]:
    """What is published for a known set, by its name in `data.known`; nothing for one the papers do not have."""
    return _facts().get(known_set, ())


@cache
def _facts() -> dict[str, tuple[PublishedFact, ...]]:
    return {
        "wsc273": (*_wsc_accuracy(), *_trichelair(), *_elazar("wsc273"), *_elazar_na()),
        "winogrande/dev": (*_winogrande_dev(), *_elazar("winogrande/dev")),
        "winogrande/test": tuple(_winogrande_test()),
        "pdp": tuple(_table_5("pdp")),
        "dpr/test": (*_table_5("dpr/test"), _aaai("dpr/test")),
        "copa/copa-test": (*_table_5("copa/test"), _aaai("copa/test")),
        "knowref/knowref_test": (_aaai("knowref"),),
        "winogender/all_sentences": (*_winogender(), _aaai("winogender")),
        "superglue-wsc/test": tuple(_superglue_test()),
    }


def _accuracy(
    system: str,
    value: float,
    source: Citation,
    where: str,
    *,
    people: bool = False,
    note: str = "",
    n: int | None = None,
) -> PublishedFact:
    return PublishedFact("accuracy", "all", "accuracy", system, value, source, where, people, n, note)


TABLE_5: dict[str, tuple[tuple[str, float, bool], ...]] = {
    "wsc273": (
        ("Liu et al. (2016)", 52.8, False),
        ("Knowledge hunting (Emami et al., 2018)", 57.1, False),
        ("Ensemble of LMs (Trinh and Le, 2018)", 63.8, False),
        ("GPT-2 (Radford et al., 2019)", 70.7, False),
        ("BERT fine-tuned (Kocijan et al., 2019)", 72.2, False),
        ("BERT fine-tuned on WinoGrande", 77.6, False),
        ("People (Bender, 2015)", 92.1, True),
        ("People (three crowd workers, majority)", 96.5, True),
    ),
    "pdp": (
        ("Liu et al. (2016)", 61.7, False),
        ("LMs (Trinh and Le, 2018)", 70.0, False),
        ("BERT fine-tuned on WinoGrande", 75.0, False),
        ("People (Davis et al., 2016)", 90.9, True),
        ("People (three crowd workers, majority)", 92.5, True),
    ),
    "dpr/test": (
        ("Rahman and Ng (2012)", 73.0, False),
        ("Peng et al. (2015)", 76.4, False),
        ("BERT fine-tuned on WinoGrande", 86.9, False),
        ("People (three crowd workers, majority)", 95.2, True),
    ),
    "copa/test": (
        ("Gordon et al. (2011)", 65.4, False),
        ("Sasaki et al. (2017)", 76.4, False),
        ("BERT fine-tuned on WinoGrande", 81.0, False),
        ("People (Gordon et al., 2012)", 99.0, True),
    ),
}
AAAI = {"wsc273": 90.1, "dpr/test": 93.1, "copa/test": 90.6, "knowref": 85.6, "winogender": 97.1}


def _table_5(dataset: str) -> Iterator[PublishedFact]:
    for system, value, people in TABLE_5[dataset]:
        yield _accuracy(system, value / 100, SAKAGUCHI_FIRST, "Table 5", people=people)


def _aaai(dataset: str) -> PublishedFact:
    return _accuracy("RoBERTa fine-tuned on WinoGrande", AAAI[dataset] / 100, SAKAGUCHI, "abstract")


def _wsc_accuracy() -> Iterator[PublishedFact]:
    yield from _table_5("wsc273")
    yield _aaai("wsc273")
    rounded = "rounded in the paper"
    yield _accuracy("BERT fine-tuned (Ruan et al., 2019)", 0.71, LIU, "section 2", note=rounded)
    yield _accuracy("BERT attention (Klein and Nabi, 2019)", 0.60, LIU, "section 2", note=rounded)


def _trichelair() -> Iterator[PublishedFact]:
    expected = "abstentions counted as a half"
    rows = (
        # full, unswitched, switched, consistency, associative, the rest
        ("Single LM (Trinh and Le, 2018)", (54.58, 54.96, 54.20, 56.49, 73.0, 51.7), ""),
        ("Ensemble of 10 LMs (Trinh and Le, 2018)", (61.54, 58.78, 49.62, 43.51, 91.9, 56.8), ""),
        ("Ensemble of 14 LMs (Trinh and Le, 2018)", (63.74, 63.36, 53.43, 44.27, 83.8, 60.6), ""),
        ("Knowledge hunting (Emami et al., 2018)", (57.14, 58.78, 58.78, 90.07, 50.0, 58.3), expected),
    )
    names = (
        ("accuracy", "all", "accuracy", "Table 2", 273),
        ("switching", "switchable", "accuracy", "Table 2", 131),
        ("switching", "switchable", "switched_accuracy", "Table 2", 131),
        ("switching", "switchable", "consistency", "Table 2", 131),
        ("association", "associative", "accuracy", "Table 3", 37),
        ("association", "non_associative", "accuracy", "Table 3", None),
    )
    for system, values, note in rows:
        for (protocol, subset, metric, where, n), value in zip(names, values, strict=True):
            yield PublishedFact(protocol, subset, metric, system, value / 100, TRICHELAIR, where, n=n, note=note)


ELAZAR_TABLES = {
    # (single, group) on the problems as they are, no-cands and part-sent: Table 1, then Table 6
    "wsc273": (
        ("RoBERTa-large fine-tuned on WinoGrande", "Table 1", ((89.71, 79.41), (60.72, 40.35), (64.88, 33.88))),
        ("RoBERTa-large fine-tuned on WinoGrande, MC-MLM", "Table 6", ((89.71, 80.88), (60.96, 29.82), (59.09, 22.31))),
    ),
    "winogrande/dev": (
        ("RoBERTa-large fine-tuned on WinoGrande", "Table 1", ((71.49, 58.45), (53.07, 31.05), (53.11, 22.34))),
        ("RoBERTa-large fine-tuned on WinoGrande, MC-MLM", "Table 6", ((70.95, 54.23), (54.87, 17.69), (54.43, 14.18))),
    ),
}
ELAZAR_PAIRS = {"wsc273": 136, "winogrande/dev": 284}
ZERO_SHOT = {
    "wsc273": {
        "BERT-base": (56.52, 15.22),
        "BERT-large": (61.41, 23.91),
        "RoBERTa-base": (63.04, 27.17),
        "RoBERTa-large": (73.91, 47.83),
        "ALBERT-base": (55.43, 13.04),
        "ALBERT-xxlarge": (78.80, 57.61),
    },
    "winogrande/dev": {
        "BERT-base": (53.12, 11.11),
        "BERT-large": (55.56, 12.50),
        "RoBERTa-base": (56.25, 14.58),
        "RoBERTa-large": (54.86, 12.50),
        "ALBERT-base": (52.78, 7.64),
        "ALBERT-xxlarge": (58.68, 20.83),
    },
}


def _elazar(dataset: str) -> Iterator[PublishedFact]:
    pairs = ELAZAR_PAIRS[dataset]
    for system, where, (twins, *artifacts) in ELAZAR_TABLES[dataset]:
        yield PublishedFact("groups", "grouped", "accuracy", system, twins[0] / 100, ELAZAR, where, n=2 * pairs)
        yield PublishedFact("groups", "complete", "group_accuracy", system, twins[1] / 100, ELAZAR, where, n=pairs)
        for name, (single, group) in zip(("no-cands", "part-sent"), artifacts, strict=True):
            yield PublishedFact("artifacts", name, "accuracy", system, single / 100, ELAZAR, where)
            yield PublishedFact("artifacts", name, "group_accuracy", system, group / 100, ELAZAR, where)
    for system, (single, group) in ZERO_SHOT[dataset].items():
        yield PublishedFact("special-word", "all", "accuracy", system, single / 100, ELAZAR, "Table 3")
        yield PublishedFact("special-word", "all", "group_accuracy", system, group / 100, ELAZAR, "Table 3")


def _elazar_na() -> Iterator[PublishedFact]:
    """WSC-na as Elazar et al. have it: pairs without an associative member."""
    for (system, where, _), value in zip(ELAZAR_TABLES["wsc273"], (89.45, 90.00), strict=True):
        yield PublishedFact("association", "non_associative_groups", "accuracy", system, value / 100, ELAZAR, where)


def _winogrande_dev() -> Iterator[PublishedFact]:
    system = "RoBERTa-large fine-tuned on WinoGrande"
    yield _accuracy(f"{system} (Sakaguchi et al., 2020)", 0.793, ELAZAR, "footnote 10", n=1267)
    yield _accuracy(system, 0.783, ELAZAR, "section 5.1", n=1267)
    yield _accuracy("People", 0.94, SAKAGUCHI, "abstract", people=True, note="reported for WinoGrande as a whole")


def _winogrande_test() -> Iterator[PublishedFact]:
    yield _accuracy("RoBERTa fine-tuned on WinoGrande", 0.791, SAKAGUCHI, "abstract")
    yield _accuracy("RoBERTa fine-tuned on WinoGrande-M", 0.68, LIU, "section 2", note="rounded in the paper")
    yield _accuracy("People", 0.94, SAKAGUCHI, "abstract", people=True)


WINOGENDER = {
    # female not gotcha, female gotcha, male not gotcha, male gotcha
    "RULE (Lee et al., 2011)": (38.3, 10.0, 51.7, 37.5),
    "STATS (Durrett and Klein, 2013)": (50.8, 45.8, 61.7, 40.0),
    "NEURAL (Clark and Manning, 2016)": (50.8, 36.7, 49.2, 46.7),
    "BERT fine-tuned on WSC": (44.2, 61.7, 64.2, 45.0),
    "BERT fine-tuned on DPR": (58.3, 45.0, 44.2, 60.8),
    "BERT fine-tuned on WinoGrande, debiased": (69.2, 65.0, 65.0, 68.3),
    "BERT fine-tuned on WinoGrande, all": (83.3, 76.7, 76.7, 80.8),
}


def _winogender() -> Iterator[PublishedFact]:
    signed = "sign from the two accuracies; the paper prints the absolute value"
    for system, cells in WINOGENDER.items():
        for gender, (easy, hard) in zip(("female", "male"), (cells[:2], cells[2:]), strict=True):
            for name, value in ((f"{gender}.not_gotcha", easy), (f"{gender}.gotcha", hard)):
                yield PublishedFact("gender", name, "accuracy", system, value / 100, SAKAGUCHI_FIRST, "Table 6", n=120)
            delta = round(easy - hard, 1) / 100
            yield PublishedFact("gender", gender, "delta", system, delta, SAKAGUCHI_FIRST, "Table 6", note=signed)


def _superglue_test() -> Iterator[PublishedFact]:
    search = "ensemble of the five best of 60 trials"
    for name, value in (("MC-MLM", 86), ("MC-Sent", 77), ("MC-Sent-NoSoftmax", 77), ("MC-Sent-NoPairLoss", 86)):
        yield _accuracy(f"RoBERTa, {name}", value / 100, LIU, "Table 2", note=search, n=146)
    for name, value in (("P-Sent", 67), ("P-Span", 80)):
        yield _accuracy(f"RoBERTa, {name}", value / 100, LIU, "Table 2", note=search, n=146)
    for name, value in (("BERT (official baseline)", 64), ("RoBERTa (Liu et al., 2019)", 89), ("T5", 94)):
        yield _accuracy(name, value / 100, LIU, "section 2", note="rounded in the paper", n=146)
