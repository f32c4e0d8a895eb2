"""Every protocol in plain words: what it asks, how its rows are called on a page, and whom to cite for it."""

from __future__ import annotations

from dataclasses import dataclass

from winokit.results import Metric


@dataclass(frozen=True, slots=True)
class Citation:
    """A paper to cite."""

    short: str
    full: str
    link: str = ""


LEVESQUE = Citation(
    "Levesque et al., 2012",
    "Hector J. Levesque, Ernest Davis and Leora Morgenstern. 2012. The Winograd Schema Challenge. KR 2012.",
)
TRICHELAIR = Citation(
    "Trichelair et al., 2018",
    "Paul Trichelair, Ali Emami, Jackie C. K. Cheung, Adam Trischler, Kaheer Suleman and Fernando Diaz. 2018. "
    "On the Evaluation of Common-Sense Reasoning in Natural Language Understanding. arXiv:1811.01778.",
    "https://arxiv.org/abs/1811.01778",
)
SAKAGUCHI_FIRST = Citation(
    "Sakaguchi et al., 2019",
    "Keisuke Sakaguchi, Ronan Le Bras, Chandra Bhagavatula and Yejin Choi. 2019. WinoGrande: An Adversarial Winograd "
    "Schema Challenge at Scale. arXiv:1907.10641, first version.",
    "https://arxiv.org/abs/1907.10641v1",
)
SAKAGUCHI = Citation(
    "Sakaguchi et al., 2020",
    "Keisuke Sakaguchi, Ronan Le Bras, Chandra Bhagavatula and Yejin Choi. 2020. WinoGrande: An Adversarial Winograd "
    "Schema Challenge at Scale. AAAI 2020.",
    "https://arxiv.org/abs/1907.10641",
)
ELAZAR = Citation(
    "Elazar et al., 2021",
    "Yanai Elazar, Hongming Zhang, Yoav Goldberg and Dan Roth. 2021. Back to Square One: Artifact Detection, Training "
    "and Commonsense Disentanglement in the Winograd Schema. EMNLP 2021.",
    "https://aclanthology.org/2021.emnlp-main.819",
)
LIU = Citation(
    "Liu et al., 2020",
    "Haokun Liu, William Huang, Dhara A. Mungra and Samuel R. Bowman. 2020. Precise Task Formalization Matters in "
    "Winograd Schema Evaluations. EMNLP 2020.",
    "https://arxiv.org/abs/2010.04043",
)
ABDOU = Citation(
    "Abdou et al., 2020",
    "Mostafa Abdou, Vinit Ravishankar, Maria Barrett, Yonatan Belinkov, Desmond Elliott and Anders Søgaard. 2020. "
    "The Sensitivity of Language Models and Humans to Winograd Schema Perturbations. ACL 2020.",
    "https://aclanthology.org/2020.acl-main.679",
)
RUDINGER = Citation(
    "Rudinger et al., 2018",
    "Rachel Rudinger, Jason Naradowsky, Brian Leonard and Benjamin Van Durme. 2018. Gender Bias in Coreference "
    "Resolution. NAACL 2018.",
    "https://aclanthology.org/N18-2002",
)
ZHAO = Citation(
    "Zhao et al., 2018",
    "Jieyu Zhao, Tianlu Wang, Mark Yatskar, Vicente Ordonez and Kai-Wei Chang. 2018. Gender Bias in Coreference "
    "Resolution: Evaluation and Debiasing Methods. NAACL 2018.",
    "https://aclanthology.org/N18-2003",
)


@dataclass(frozen=True, slots=True)
class ProtocolCaption:
    """What a reader must know to read a protocol's numbers."""

    title: str
    question: str
    sources: tuple[Citation, ...] = ()


ABOUT: dict[str, ProtocolCaption] = {
    "accuracy": ProtocolCaption("Accuracy", "How many problems are answered right?", (LEVESQUE,)),
    "groups": ProtocolCaption("Twins", "How many groups are right as a whole?", (ELAZAR, ABDOU)),
    "dependence": ProtocolCaption(
        "Twin dependence", "Do twins get the same option, whatever the special word says? Nought is best."
    ),
    "strict": ProtocolCaption(
        "Strict", "How many groups are right in every version: twins, switched, perturbed?", (ELAZAR, TRICHELAIR, ABDOU)
    ),
    "switching": ProtocolCaption(
        "Switching", "Does the answer follow when the candidates change places?", (TRICHELAIR,)
    ),
    "association": ProtocolCaption(
        "Association", "Is the score carried by problems that word association solves?", (TRICHELAIR,)
    ),
    "artifacts": ProtocolCaption(
        "Artifacts", "What does it score when the text no longer says enough?", (ELAZAR, SAKAGUCHI_FIRST)
    ),
    "special-word": ProtocolCaption(
        "Special word", "Given the right candidate, is the right special word likelier?", (ELAZAR,)
    ),
    "stability": ProtocolCaption("Stability", "Does it hold when the text is perturbed?", (ABDOU,)),
    "position": ProtocolCaption("Position", "Does the place of the right candidate matter?"),
    "length": ProtocolCaption("Candidate length", "Does it choose the shorter candidate?", (ELAZAR,)),
    "structure": ProtocolCaption("Structure", "Is one kind of text easier than another?", (TRICHELAIR,)),
    "naturalness": ProtocolCaption("Naturalness", "Is it right where the text is likelier?", (ELAZAR,)),
    "gender": ProtocolCaption("Gender", "Does it answer by stereotype?", (RUDINGER, ZHAO, SAKAGUCHI_FIRST)),
    "luck": ProtocolCaption("Luck", "Would a coin do as well?", (TRICHELAIR,)),
}
ORDER = {name: place for place, name in enumerate(ABOUT)}

TITLES: dict[tuple[str, str, str], str] = {
    ("accuracy", "all", "accuracy"): "All problems",
    ("accuracy", "all", "expected_accuracy"): "Abstentions counted as guesses",
    ("accuracy", "all", "abstained"): "Not answered",
    ("accuracy", "all", "precision"): "Right among the answered",
    ("accuracy", "all", "majority_class"): "Always the commonest answer",
    ("groups", "complete", "group_accuracy"): "Whole groups right",
    ("groups", "complete", "one_right"): "Groups right in part",
    ("groups", "complete", "none_right"): "Groups wrong throughout",
    ("groups", "grouped", "accuracy"): "Problems with a twin",
    ("groups", "single", "accuracy"): "Problems alone",
    ("groups", "all", "single_minus_grouped"): "Problems alone minus those with a twin",
    ("switching", "switchable", "accuracy"): "Before switching",
    ("switching", "switchable", "switched_accuracy"): "After switching",
    ("switching", "switchable", "consistency"): "Answer follows the switch",
    ("association", "associative", "accuracy"): "Associative problems",
    ("association", "non_associative", "accuracy"): "All other problems",
    ("association", "all", "associative_minus_others"): "Associative minus all others",
    ("association", "non_associative_groups", "accuracy"): "Groups without an associative problem",
    ("special-word", "all", "accuracy"): "Special word chosen",
    ("special-word", "all", "group_accuracy"): "Special word chosen, whole groups",
    ("position", "answer_first", "accuracy"): "Right candidate offered first",
    ("position", "answer_second", "accuracy"): "Right candidate offered second",
    ("position", "all", "order_invariance"): "Same choice in either order",
    ("position", "all", "order_turned"): "Another choice in the other order",
    ("position", "all", "first_minus_second"): "Offered first minus offered second",
    ("length", "equal", "accuracy"): "Candidates equally long",
    ("length", "unequal", "accuracy"): "One candidate longer",
    ("length", "unequal", "shorter_chosen"): "Shorter candidate chosen",
    ("strict", "complete", "group_accuracy"): "Groups right in every version",
    ("gender", "all", "pro_minus_anti"): "Pro- minus anti-stereotyped",
    ("luck", "all", "p_chance"): "Probability that guessing does as well",
    ("luck", "all", "p_best_of_10"): "Probability that the best of ten guessers does",
    ("luck", "all", "n_to_beat_chance"): "Problems needed to tell it from chance",
    ("dependence", "complete", "same_option"): "Same option for all twins",
    ("dependence", "complete", "independent_group_accuracy"): "Whole groups right, were twins independent",
}
SUBSETS = {
    "no-cands": "Candidates removed (no-cands)",
    "part-sent": "Clause of the blank alone (part-sent)",
    "local-context": "From two words before the blank (local-context)",
    "female": "Female pronouns",
    "male": "Male pronouns",
    "neutral": "Neutral pronouns",
    "pro": "Pro-stereotyped",
    "anti": "Anti-stereotyped",
    "special_last": "Special word last",
    "special_not_last": "Special word not last",
    "all": "All",
}
METRICS = {
    "delta": "not gotcha − gotcha",
    "absolute_delta": "difference, without its sign",
    "original_accuracy": "before",
    "stability": "same choice as before",
    "f1": "F1",
}


def base(name: str) -> str:
    """A protocol or subset without the subset it was asked on: `artifacts@non_associative` is `artifacts`."""
    return name.partition("@")[0]


def about(protocol: str) -> ProtocolCaption:
    """What is known of a protocol; one from elsewhere speaks for itself."""
    return ABOUT.get(base(protocol)) or ProtocolCaption(_plain(protocol).capitalize(), "")


def title(row: Metric) -> str:
    """A row's name on a page, under its protocol's heading."""
    subset, _, on = row.subset.partition("@")
    on = on or row.protocol.partition("@")[2]
    known = TITLES.get((base(row.protocol), subset, row.metric))
    return (known or _composed(subset, row.metric)) + (f", {_plain(on)} only" if on else "")


def _composed(subset: str, metric: str) -> str:
    kind, dot, part = subset.partition(".")
    name = SUBSETS.get(kind) or _plain(kind).capitalize()
    if dot:
        name += f": {_plain(part)}" if kind == "connective" else f", {_plain(part)}"
    if metric == "accuracy":
        return name
    if metric == "group_accuracy":
        return f"{name}, whole groups"
    said = METRICS.get(metric) or _plain(metric)
    return said[0].upper() + said[1:] if name == "All" else f"{name}, {said}"


def _plain(name: str) -> str:
    return name.replace("_", " ").replace(".", ", ")


def place(row: Metric) -> tuple[int, str]:
    """Sorts protocols in the order of the table above, unknown ones last; rows of one protocol keep their order."""
    return ORDER.get(base(row.protocol), len(ORDER)), row.protocol
