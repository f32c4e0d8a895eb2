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
    (found,) = encode(cases(Dataset([problem]), formalization), formalization, reader)
    return found


def shown(problem, spec, reader, option=0):
    found = encoded(problem, spec, reader)
    return " ".join(reader.tokenizer.convert_ids_to_tokens(found.rows[found.options[option].row].ids))


def test_the_code_puts_the_separator_before_the_option_and_the_papers_after(bert_reader):
    before, after = (shown(UPSET, f"mc-sent?separator={place}", bert_reader) for place in ("before", "after"))
    assert before == "[CLS] jim yelled at kevin because [SEP] jim was upset . [SEP]"
    assert after == "[CLS] jim yelled at kevin because jim [SEP] was upset . [SEP]"


def test_there_are_as_many_separators_as_the_tokenizer_joins_texts_with_or_as_asked(bert_reader, roberta_reader):
    assert shown(UPSET, "mc-sent", roberta_reader).count("[SEP] [SEP] jim") == 1
    assert shown(UPSET, "mc-sent?style=code", bert_reader).count("[SEP] [SEP] jim") == 1
    assert shown(UPSET, "mc-sent?separators=1", roberta_reader).count("[SEP]") == 2


def test_the_second_segment_begins_after_the_separator(bert_reader, roberta_reader):
    (row, _) = encoded(UPSET, "mc-sent", bert_reader).rows
    assert bert_reader.segments
    assert bert_reader.tokenizer.convert_ids_to_tokens(row.ids)[row.second :] == "jim was upset . [SEP]".split()
    assert not roberta_reader.segments


def test_options_take_the_possessive_unless_asked_for_to_the_letter(bert_reader):
    assert "jim ' s book" in shown(BOOK, "mc-sent", bert_reader)
    assert "[SEP] jim book" in shown(BOOK, "mc-sent?style=code", bert_reader)
    assert "[MASK] [MASK] [MASK] book" in shown(BOOK, "mc-mlm", bert_reader)


def test_options_that_leave_the_same_masked_text_share_a_row(bert_reader):
    found = encoded(UPSET, "mc-mlm", bert_reader)
    assert len(found.rows) == 1
    assert [option.tokens for option in found.options] == [
        tuple(bert_reader.tokenizer.convert_tokens_to_ids([name])) for name in ("jim", "kevin")
    ]
    longer = encoded(UPSET.replace(candidates=("Jim", "the book")), "mc-mlm", bert_reader)
    assert len(longer.rows) == 2


def test_an_option_by_itself_keeps_its_row_and_its_label(bert_reader):
    found = encoded(UPSET, "p-sent", bert_reader)
    alone = found.only(1)
    assert alone.rows == (found.rows[1],)
    assert alone.options[0].row == 0
    assert alone.options[0].right is False


def test_spans_are_the_first_mention_and_the_pronoun(bert_reader):
    found = encoded(UPSET.replace(after=" was upset and Jim left."), "p-span", bert_reader)
    assert len(found.rows) == 1
    assert [option.places for option in found.options] == [((1,), (6,)), ((4,), (6,))]


def test_a_blank_stands_for_the_pronoun(bert_reader):
    blank = UPSET.replace(pronoun=None)
    found = encoded(blank, "p-span", bert_reader)
    assert bert_reader.tokenizer.convert_ids_to_tokens(found.rows[0].ids)[6] == "_"
    assert found.options[0].places[1] == (6,)


def test_a_query_is_found_where_the_dataset_says(bert_reader):
    twice = Problem("Jim yelled at Jim because ", " left.", ("no", "yes"), 1, "he", query="Jim")
    first, second = (
        encoded(twice.with_labels(span1_index=index), "p-span", bert_reader).options[0].places[0] for index in (0, 3)
    )
    assert first == (1,)
    assert second == (4,)


def test_an_option_that_is_not_named_has_no_span(bert_reader):
    assert (
        encoded(UPSET.replace(before="Jim left because "), "p-span", bert_reader) == "'Kevin' is not named in the text"
    )


@pytest.mark.parametrize("spec", ["p-span", "mc-sent", "mc-mlm"])
def test_a_text_longer_than_the_model_is_refused_in_one_line(tiny, spec):
    reader = InputReader.of(tiny.tokenizer(), Config(), 12)
    shortest = UPSET.replace(after=" was upset and glad and glad.")
    with pytest.raises(TooLong, match=r"tokens; the model reads at most 12: 'Jim yelled"):
        encoded(shortest, spec, reader)


def test_separators_count_towards_the_longest_text(tiny):
    reader = InputReader.of(tiny.tokenizer(), Config(), 11)
    encoded(UPSET, "mc-sent", InputReader.of(tiny.tokenizer(), Config(), 12))
    encoded(UPSET, "mc-mlm", reader)
    with pytest.raises(TooLong, match="12 tokens"):
        encoded(UPSET, "mc-sent", reader)
