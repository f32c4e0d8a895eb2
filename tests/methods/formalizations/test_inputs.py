"""Problems are encoded as the texts, segments and places that each formalization reads."""

import pytest

pytest.importorskip("torch")
from winokit.methods.formalizations.base import Formalization
from winokit.methods.formalizations.cases import cases
from winokit.methods.formalizations.inputs import InputReader, encode
from winokit.models.base import TooLong
from winokit.problem import Dataset, Problem

UPSET = Problem("Jim yelled at Kevin because ", " was upset.", ("Jim", "Kevin"), 0, "he")
BOOK = Problem("Jim asked Bill about ", " book.", ("Jim", "Bill"), 1, "his")


class Config:
    type_vocab_size = 2


@pytest.fixture(scope="module")
def bert_reader(tiny):
    return InputReader.of(tiny.tokenizer("bert"), Config(), 64)


@pytest.fixture(scope="module")
def roberta_reader(tiny):
    return InputReader.of(tiny.tokenizer("roberta"), Config(), 64)


def encoded(problem, spec, reader):
    formalization = Formalization.parse(spec)
    problem_cases = cases(Dataset([problem]), formalization)
    (example,) = encode(problem_cases, formalization, reader)
    return example


def tokens_of(row, reader):
    return reader.tokenizer.convert_ids_to_tokens(row.ids)


def shown(problem, spec, reader):
    """Tokens that are read for the first option, with spaces between them."""
    example = encoded(problem, spec, reader)
    first_option = example.options[0]
    return " ".join(tokens_of(example.rows[first_option.row], reader))


def test_the_code_puts_the_separator_before_the_option_and_the_papers_after(bert_reader):
    before = shown(UPSET, "mc-sent?separator=before", bert_reader)
    after = shown(UPSET, "mc-sent?separator=after", bert_reader)
    assert before == "[CLS] jim yelled at kevin because [SEP] jim was upset . [SEP]"
    assert after == "[CLS] jim yelled at kevin because jim [SEP] was upset . [SEP]"


def test_there_are_as_many_separators_as_the_tokenizer_joins_texts_with_or_as_asked(bert_reader, roberta_reader):
    assert shown(UPSET, "mc-sent", roberta_reader).count("[SEP] [SEP] jim") == 1
    assert shown(UPSET, "mc-sent?style=code", bert_reader).count("[SEP] [SEP] jim") == 1
    assert shown(UPSET, "mc-sent?separators=1", roberta_reader).count("[SEP]") == 2


def test_the_second_segment_begins_after_the_separator(bert_reader, roberta_reader):
    (row, _) = encoded(UPSET, "mc-sent", bert_reader).rows
    assert bert_reader.segments
    second_segment = tokens_of(row, bert_reader)[row.second :]
    assert second_segment == "jim was upset . [SEP]".split()
    assert not roberta_reader.segments


def test_options_take_the_possessive_unless_asked_for_to_the_letter(bert_reader):
    assert "jim ' s book" in shown(BOOK, "mc-sent", bert_reader)
    assert "[SEP] jim book" in shown(BOOK, "mc-sent?style=code", bert_reader)
    assert "[MASK] [MASK] [MASK] book" in shown(BOOK, "mc-mlm", bert_reader)


def test_options_that_leave_the_same_masked_text_share_a_row(bert_reader):
    example = encoded(UPSET, "mc-mlm", bert_reader)
    jim, kevin = bert_reader.tokenizer.convert_tokens_to_ids(["jim", "kevin"])
    assert len(example.rows) == 1
    assert [option.tokens for option in example.options] == [(jim,), (kevin,)]


def test_options_of_other_lengths_have_rows_of_their_own(bert_reader):
    problem = UPSET.replace(candidates=("Jim", "the book"))
    example = encoded(problem, "mc-mlm", bert_reader)
    assert len(example.rows) == 2


def test_an_option_by_itself_keeps_its_row_and_its_label(bert_reader):
    example = encoded(UPSET, "p-sent", bert_reader)
    alone = example.only(1)
    assert alone.rows == (example.rows[1],)
    assert alone.options[0].row == 0
    assert alone.options[0].right is False


def test_spans_are_the_first_mention_and_the_pronoun(bert_reader):
    problem = UPSET.replace(after=" was upset and Jim left.")
    example = encoded(problem, "p-span", bert_reader)
    places = [option.places for option in example.options]
    assert len(example.rows) == 1
    assert places == [((1,), (6,)), ((4,), (6,))]


def test_a_blank_stands_for_the_pronoun(bert_reader):
    blank = UPSET.replace(pronoun=None)
    example = encoded(blank, "p-span", bert_reader)
    tokens = tokens_of(example.rows[0], bert_reader)
    assert tokens[6] == "_"
    assert example.options[0].places[1] == (6,)


def test_a_query_is_found_where_the_dataset_says(bert_reader):
    twice = Problem("Jim yelled at Jim because ", " left.", ("no", "yes"), 1, "he", query="Jim")
    about_first = encoded(twice.with_labels(span1_index=0), "p-span", bert_reader)
    about_second = encoded(twice.with_labels(span1_index=3), "p-span", bert_reader)
    assert about_first.options[0].places[0] == (1,)
    assert about_second.options[0].places[0] == (4,)


def test_an_option_that_is_not_named_has_no_span(bert_reader):
    problem = UPSET.replace(before="Jim left because ")
    assert encoded(problem, "p-span", bert_reader) == "'Kevin' is not named in the text"


@pytest.mark.parametrize("spec", ["p-span", "mc-sent", "mc-mlm"])
def test_a_text_longer_than_the_model_is_refused_in_one_line(tiny, spec):
    reader = InputReader.of(tiny.tokenizer(), Config(), 12)
    shortest = UPSET.replace(after=" was upset and glad and glad.")
    with pytest.raises(TooLong, match=r"tokens; the model reads at most 12: 'Jim yelled"):
        encoded(shortest, spec, reader)


def test_separators_count_towards_the_longest_text(tiny):
    reader = InputReader.of(tiny.tokenizer(), Config(), 11)
    longer_reader = InputReader.of(tiny.tokenizer(), Config(), 12)
    encoded(UPSET, "mc-sent", longer_reader)
    encoded(UPSET, "mc-mlm", reader)
    with pytest.raises(TooLong, match="12 tokens"):
        encoded(UPSET, "mc-sent", reader)
