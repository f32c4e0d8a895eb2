import pytest

from winokit.data.loading import load
from winokit.errors import BadInput, MissingExtra, UnknownName
from winokit.methods.formalizations.base import FORMALIZATIONS, STYLES, Formalization
from winokit.methods.formalizations.cases import alone, cases, noun_phrases, spans, training_cases
from winokit.problem import Dataset, Problem

YES_NO = ("no", "yes")


def judgement(query, answer, before="Jim yelled at Kevin because ", after=" was upset."):
    return Problem(before, after, YES_NO, answer, "he", query=query)


JUDGED = Dataset(
    [
        judgement("Jim", 0),
        judgement("Kevin", 1),
        judgement("Bill", 0),
        judgement("the book", 1, before="Jim lent Bill the book since ", after=" was small."),
        judgement("Kevin", 0, before="Kevin left because ", after=" had a book."),
        judgement("a book", 0, before="Kevin left because ", after=" had a book."),
    ]
)


def test_a_problem_with_candidates_is_its_own_case(twins):
    for problem, case in zip(twins, cases(twins, Formalization.parse("mc-sent")), strict=True):
        assert case.options == problem.candidates
        assert case.gold == problem.answer
    hidden = twins.with_problems(problem.replace(answer=None) for problem in twins)
    assert all(case.gold is None and set(case.right) == {None} for case in cases(hidden, Formalization.parse("p-sent")))


def test_a_query_is_compared_with_its_siblings_and_labels_are_not_looked_at():
    found = cases(JUDGED, Formalization.parse("mc-mlm"))
    assert [case.options for case in found[:2]] == [("Jim", "Kevin", "Bill"), ("Kevin", "Jim", "Bill")]
    assert found[0].right == (False, None, None)
    assert alone(found) == 1
    hidden = JUDGED.with_problems(problem.replace(answer=None) for problem in JUDGED)
    unknown = cases(hidden, Formalization.parse("mc-mlm"))
    assert [case.options for case in unknown] == [case.options for case in found]
    assert {label for case in unknown for label in case.right} == {None}


@pytest.mark.parametrize("name", ["p-sent", "p-span"])
def test_what_judges_one_option_at_a_time_has_no_rivals(name):
    assert all(len(case.options) == 1 for case in cases(JUDGED, Formalization.parse(name)))


@pytest.mark.parametrize("name", ["p-sent", "p-span", "mc-sent-no-pair-loss"])
def test_pointwise_formalizations_train_on_every_judgement(name):
    found, notes = training_cases(JUDGED, Formalization.parse(name))
    assert [case.right for case in found] == [(bool(problem.answer),) for problem in JUDGED]
    assert not notes


@pytest.mark.parametrize("name", ["mc-sent", "mc-sent-no-softmax", "mc-mlm"])
def test_the_code_trains_on_judgements_whose_query_is_right(name):
    (case,), notes = training_cases(JUDGED, Formalization.parse(name))
    assert case.options == ("Kevin", "Jim", "Bill")
    assert case.gold == 0
    assert notes == [
        f"1 of 6 judgements train {name}: those whose query is right, where there is a rival to compare with"
    ]


def test_the_paper_trains_on_one_judgement_a_pronoun_with_the_right_span_among_its_options():
    (case,), _ = training_cases(JUDGED, Formalization.parse("mc-mlm?trains=groups"))
    assert case.options == ("Jim", "Kevin", "Bill")
    assert case.gold == 1


def test_the_paper_trains_no_pair_loss_on_one_judgement_a_pronoun_too():
    every, none = training_cases(JUDGED, Formalization.parse("mc-sent-no-pair-loss"))
    kept, notes = training_cases(JUDGED, Formalization.parse("mc-sent-no-pair-loss?style=paper"))
    assert (len(every), none) == (len(JUDGED), [])
    pronouns = {(case.problem.before, case.problem.after): case.options for case in reversed(every)}
    assert {(case.problem.before, case.problem.after): case.options for case in kept} == pronouns
    assert len(kept) == len(pronouns) < len(JUDGED)
    assert notes == [f"{len(kept)} of 6 problems train: of yes/no judgements one for each pronoun"]


def test_superglue_wsc_gives_as_many_cases_as_its_siblings_allow(real_file):
    data = load(real_file("superglue-wsc/train.jsonl"))
    count = {
        spec: len(training_cases(data, Formalization.parse(spec))[0])
        for spec in ("p-span", "mc-sent-no-pair-loss", "mc-mlm", "mc-mlm?trains=groups")
    }
    # 554 judgements about 307 pronouns; 227 of these have a right one and another, and one of them is asked twice.
    assert count == {"p-span": 554, "mc-sent-no-pair-loss": 554, "mc-mlm": 228, "mc-mlm?trains=groups": 227}


class Token:
    def __init__(self, i, text, pos):
        self.i, self.text, self.pos_ = i, text, pos


class Doc:
    """What we ask of spaCy's: tokens with parts of speech, noun chunks, slices."""

    def __init__(self, tagged, chunks):
        self.tokens = [Token(i, *pair) for i, pair in enumerate(tagged)]
        self.noun_chunks = [type("Span", (), {"start": start, "end": end}) for start, end in chunks]

    def __iter__(self):
        return iter(self.tokens)

    def __getitem__(self, part):
        found = Doc([(token.text, token.pos_) for token in self.tokens[part]], [])
        found.text = " ".join(token.text for token in self.tokens[part])
        return found


def test_noun_phrases_are_chunks_and_runs_of_nouns_without_pronouns():
    tagged = [("the", "DET"), ("school", "NOUN"), ("bus", "NOUN"), ("passed", "VERB"), ("Jim", "PROPN"), ("he", "PRON")]
    assert spans(Doc(tagged, [(0, 3), (5, 6)])) == ["the school bus", "school bus", "Jim"]


def test_noun_phrases_need_spacy_or_one_of_its_models():
    with pytest.raises((MissingExtra, BadInput), match=r"winokit\[nlp\]|no such spaCy model"):
        noun_phrases("no_such_model")


def test_a_style_sets_what_the_formalization_has_and_single_switches_override_it():
    assert Formalization.parse("mc-sent?style=paper").switches["separator"] == "after"
    assert Formalization.parse("mc-sent?style=paper&separator=before").switches["separator"] == "before"
    assert "separator" not in Formalization.parse("mc-mlm?style=paper").switches
    assert Formalization.parse("mc-sent?style=winogrande").switches["head"] == "dense"
    assert Formalization.parse("mc-mlm?style=winogrande").switches["head"] == "pretrained"


@pytest.mark.parametrize("name", list(FORMALIZATIONS))
@pytest.mark.parametrize("style", list(STYLES))
def test_a_spec_says_everything_that_differs_from_the_defaults(name, style):
    formalization = Formalization.parse(f"{name}?style={style}")
    assert Formalization.parse(formalization.spec) == formalization
    assert (formalization.spec == name) == (style == "default")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("mc-lmm", "Did you mean 'mc-mlm'"),
        ("mc-mlm?separator=after", "No switch of 'mc-mlm' named 'separator'"),
        ("mc-sent?separator=behind", "No separator of 'mc-sent' named 'behind'. Known: after, before"),
        ("mc-sent?style=mine", "No style"),
        ("mc-mlm?alpha=big", "a number, 0 or more, expected, found 'big'"),
        ("mc-mlm?alpha=nan", "a number, 0 or more, expected, found 'nan'"),
        ("mc-mlm?beta=-1", "a number, 0 or more, expected, found '-1'"),
        ("mc-sent-no-pair-loss?trains=right", "No trains of 'mc-sent-no-pair-loss' named 'right'. Known: all, groups"),
    ],
)
def test_a_wrong_name_says_what_exists(spec, said):
    with pytest.raises((UnknownName, BadInput), match=said.replace("?", r"\?")):
        Formalization.parse(spec)


def test_every_formalization_is_found_under_its_own_name_and_one_alone_reads_the_pronoun():
    assert [FORMALIZATIONS[name].name for name in FORMALIZATIONS] == list(FORMALIZATIONS)
    assert [name for name in FORMALIZATIONS if FORMALIZATIONS[name].reads_pronoun] == ["p-span"]


def test_another_package_adds_a_formalization_by_an_entry_point(monkeypatch):
    from importlib.metadata import EntryPoint

    mine = EntryPoint("mine", "winokit.methods.formalizations.mc_sent:MC_SENT", "winokit.formalizations")
    monkeypatch.setattr(
        "winokit.registry.entry_points", lambda group: [mine] if group == "winokit.formalizations" else []
    )
    monkeypatch.setattr(FORMALIZATIONS, "_things", {})
    assert list(FORMALIZATIONS)[-1] == "mine"
    assert Formalization.parse("mine?head=dense").switches["head"] == "dense"
