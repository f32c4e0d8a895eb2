"""Tiny random masked models answer like a loop that masks and reads one text at a time."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from winokit.errors import BadInput, UnknownName
from winokit.methods.scoring.base import choose_scoring
from winokit.models import hf_masked
from winokit.models.base import (
    Ask,
    Attention,
    Embed,
    Fill,
    Model,
    PseudoLikelihood,
    Refusal,
)
from winokit.models.reading import read
from winokit.models.registry import load_model

# DeBERTa's module still asks for torch.jit.script when it is imported.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

SENTENCES = [
    "The trophy does not fit into the brown suitcase because it is too large.",
    "Nora thanked Ines because she had been helped.",
    "I poured water from the jug into the cup until it was full.",
    "The ropes held the crates, although the ropes' ends were thin.",
    "Unhelpful people poured out the unfitting water.",
]
SHORT = SENTENCES[1]
LONG = " ".join(SENTENCES)
SIZES = {
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "hidden_size": 16,
    "intermediate_size": 24,
    "max_position_embeddings": 320,
    "initializer_range": 0.5,  # far from uniform, so that a wrong position shows
}


def wordpiece() -> Tokenizer:
    """Make a tokenizer of letters and a few words.

    Its vocabulary is written out here, since a trainer would find other words each time.
    """
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = sorted(set(LONG.lower()) - {" "})
    inner_letters = [f"##{letter}" for letter in letters]
    words = "the water poured because into it is no she un help ropes ##ful ##it ##es ##ed".split()
    pieces = [*special, *letters, *inner_letters, *words]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    around = [("[CLS]", 2), ("[SEP]", 3)]
    template = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=around)
    tokenizer.post_processor = template
    return tokenizer


def byte_level(*, trim_offsets: bool) -> Tokenizer:
    """Make a tokenizer of byte pairs, trained on the sentences."""
    tokenizer = Tokenizer(models.BPE())
    byte_pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = byte_pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    processor = processors.RobertaProcessing(
        ("[SEP]", 2), ("[CLS]", 0), trim_offsets=trim_offsets, add_prefix_space=False
    )
    tokenizer.post_processor = processor
    return tokenizer


SPECIAL_TOKENS = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


def wrapped(tokenizer: Tokenizer, **special: str):
    """Tokenizer of transformers around a bare one."""
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL_TOKENS, **special)


def tokenizer_of(family: str) -> Tokenizer:
    if family in ("roberta", "modernbert"):
        return byte_level(trim_offsets=family == "roberta")
    return wordpiece()


FAMILY_CHANGES = {
    "deberta_v2": {
        "relative_attention": True,
        "position_buckets": 8,
        "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
    },
    "modernbert": {
        "local_attention": 8,  # shorter than the texts, so that local attention is really local
        "bos_token_id": 0,
        "cls_token_id": 0,
        "eos_token_id": 2,
        "sep_token_id": 2,
    },
    "distilbert": {"dim": 16, "hidden_dim": 24, "n_layers": 2, "n_heads": 2},
    "albert": {"embedding_size": 8},
    "electra": {"embedding_size": 8},
}
CLASS_NAMES = {"deberta_v2": "DebertaV2", "modernbert": "ModernBert", "distilbert": "DistilBert", "fnet": "FNet"}


def tiny(family: str, folder: Path, **changes) -> Path:
    """Save a random model of the family and its tokenizer in a folder, and return the folder."""
    tokenizer = tokenizer_of(family)
    name = CLASS_NAMES.get(family, family.capitalize())
    sizes = SIZES | FAMILY_CHANGES.get(family, {}) | changes
    vocab_size = tokenizer.get_vocab_size()
    pad_token_id = tokenizer.token_to_id("[PAD]")
    torch.manual_seed(7)
    config_class = getattr(transformers, f"{name}Config")
    model_class = getattr(transformers, f"{name}ForMaskedLM")
    config = config_class(**{"vocab_size": vocab_size, "pad_token_id": pad_token_id} | sizes)
    model_class(config).save_pretrained(folder)
    wrapped(tokenizer, mask_token="[MASK]").save_pretrained(folder)
    return folder


FAMILIES = ("bert", "roberta", "albert", "deberta_v2", "modernbert", "distilbert", "electra")
FOLDER_FAMILIES = ("bert", "roberta", "modernbert")


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Run on one thread: models this small lose more to a second thread than they gain."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module", params=FAMILIES)
def model(request, tmp_path_factory):
    folder = tiny(request.param, tmp_path_factory.mktemp(request.param))
    return load_model(f"hf:{folder}?device=cpu")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {family: tiny(family, tmp_path_factory.mktemp(family)) for family in FOLDER_FAMILIES}


@pytest.fixture
def bert(folders):
    return load_model(f"hf:{folders['bert']}?device=cpu")


def answers(model, *requests):
    """Answers of a model in the order of the requests."""
    answer_by_index = dict(model.answer(requests))
    return [answer_by_index[index] for index in range(len(requests))]


class Slow:
    """Reference that reads one text at a time, without padding and without sharing."""

    def __init__(self, model):
        self.tokenizer = model.tokenizer
        self.model = model.model

    def encode(self, text):
        encoded = self.tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
        return encoded, encoded["input_ids"]

    def inside(self, text, start, end):
        """Indices of tokens with a letter in the span, where a token of mere space goes with the next one."""
        encoded, _ = self.encode(text)
        special = encoded["special_tokens_mask"]
        token_indices = []
        is_next_inside = False
        for index, offsets in reversed(list(enumerate(encoded["offset_mapping"]))):
            letters = [position for position in range(*offsets) if not text[position].isspace()]
            if letters:
                is_inside = any(start <= position < end for position in letters)
            else:
                is_inside = is_next_inside
            is_next_inside = is_inside and not special[index]
            if is_next_inside:
                token_indices.append(index)
        return token_indices[::-1]

    def logprob(self, text, position, hidden):
        ids = torch.tensor([self.encode(text)[1]])
        token = ids[0, position].item()
        ids[0, hidden] = self.tokenizer.mask_token_id
        with torch.no_grad():
            logits = self.model(input_ids=ids).logits[0, position]
        return logits.log_softmax(-1)[token].item()

    def fill(self, request):
        text = request.before + request.text + request.after
        start = len(request.before)
        hidden = self.inside(text, start, start + len(request.text))
        return [self.logprob(text, position, hidden) for position in hidden]

    def pseudo_likelihood(self, request):
        words = self.encode(request.text)[0].word_ids()
        values = []
        for position in self.inside(request.text, request.start, request.end):
            hidden = [position]
            if request.within_word:
                word = words[position]
                hidden = [index for index in range(position, len(words)) if words[index] == word]
            values.append(self.logprob(request.text, position, hidden))
        return values

    def attention(self, request):
        _, ids = self.encode(request.text)
        with hf_masked.eager(self.model), torch.no_grad():
            layers = self.model(input_ids=torch.tensor([ids]), output_attentions=True).attentions
        source = self.inside(request.text, *request.source)
        head_count = layers[0].shape[1]
        weights = np.zeros((len(request.targets), len(layers), head_count))
        for target_index, span_of_target in enumerate(request.targets):
            target = self.inside(request.text, *span_of_target)
            for layer_index, layer in enumerate(layers):
                for head in range(head_count):
                    weights[target_index, layer_index, head] = self.head_weight(layer[0, head], source, target)
        return weights

    @staticmethod
    def head_weight(matrix, source, target):
        """Largest over target tokens of the mean weight that source tokens give them."""
        means = []
        for target_token in target:
            weights = [matrix[source_token, target_token].item() for source_token in source]
            means.append(np.mean(weights))
        return max(means)

    def hidden(self, text):
        ids = torch.tensor([self.encode(text)[1]])
        with torch.no_grad():
            return self.model.base_model(input_ids=ids).last_hidden_state[0].numpy()


def span(text, part):
    """Start and end of the part's first occurrence in the text."""
    start = text.index(part)
    return start, start + len(part)


FILLS = (
    Fill("Nora thanked ", "Ines", " because she had been helped."),
    Fill("The trophy does not fit into ", "the brown suitcase", " because it is too large."),
    Fill("", "Unhelpful people", " poured out the unfitting water."),
    Fill("I poured water until it was ", "full", ""),
)
UNFITTING_WATER = span(LONG, "unfitting water")
NORA = span(SHORT, "Nora")
INES = span(SHORT, "Ines")
TARGETS_OF_LONG = (span(LONG, "trophy"), span(LONG, "brown suitcase"))
PSEUDO_LIKELIHOODS = (
    PseudoLikelihood(SHORT, 0, len(SHORT)),
    PseudoLikelihood(LONG, *UNFITTING_WATER),
    PseudoLikelihood(LONG, *UNFITTING_WATER, within_word=True),
)
ATTENTIONS = (
    Attention(SHORT, span(SHORT, "she"), (NORA, INES)),
    Attention(LONG, span(LONG, "it is"), TARGETS_OF_LONG),
)
EMBEDDINGS = (Embed(SHORT), Embed(LONG, "first"), Embed(SHORT, "span", *INES))
MIXED = (*FILLS, *PSEUDO_LIKELIHOODS, *ATTENTIONS, *EMBEDDINGS)


def numbers(answer):
    """Numbers of an answer: an array itself, or the log-probabilities of the pieces."""
    if isinstance(answer, np.ndarray):
        return answer
    return np.array([piece.logprob for piece in answer])


def assert_same_numbers(answers_in_order, expected_answers, tolerance=1e-4):
    for answer, expected in zip(answers_in_order, expected_answers, strict=True):
        assert numbers(answer) == pytest.approx(numbers(expected), abs=tolerance)


def assert_filled_as_slowly(model, requests, answers_in_order):
    """Assert that the pieces of fills have the log-probabilities of the slow reference."""
    slow = Slow(model)
    for request, pieces in zip(requests, answers_in_order, strict=True):
        assert numbers(pieces) == pytest.approx(slow.fill(request), abs=1e-4)


def test_every_family_is_a_masked_model_whose_head_takes_positions(model):
    assert isinstance(model, Model)
    assert model.kind == "masked"
    assert model.can == {Fill, PseudoLikelihood, Attention, Embed}
    assert model.plan == "logits where masked"
    assert model.fingerprint.startswith("hf masked ")


def test_a_fill_masks_all_pieces_at_once(model):
    assert_filled_as_slowly(model, FILLS, answers(model, *FILLS))


@pytest.mark.parametrize("within_word", [False, True])
def test_a_pseudo_likelihood_masks_each_token_by_itself_or_with_the_rest_of_its_word(model, within_word):
    slow = Slow(model)
    requests = [
        PseudoLikelihood(SENTENCES[1], 0, len(SENTENCES[1]), within_word),
        PseudoLikelihood(SENTENCES[3], 0, len(SENTENCES[3]), within_word),
        PseudoLikelihood(LONG, *span(LONG, "unfitting"), within_word),
    ]
    for request, pieces in zip(requests, answers(model, *requests), strict=True):
        expected = slow.pseudo_likelihood(request)
        assert numbers(pieces) == pytest.approx(expected, abs=1e-4)


def test_the_two_pseudo_likelihoods_differ_where_a_word_has_pieces(bert):
    text = SENTENCES[4]
    unhelpful = span(text, "Unhelpful")
    plain_request = PseudoLikelihood(text, *unhelpful)
    corrected_request = PseudoLikelihood(text, *unhelpful, within_word=True)
    plain, corrected = answers(bert, plain_request, corrected_request)
    plain_numbers = numbers(plain)
    corrected_numbers = numbers(corrected)
    assert len(plain) > 2
    assert plain_numbers[-1] == pytest.approx(corrected_numbers[-1], abs=1e-4)
    assert abs(plain_numbers[0] - corrected_numbers[0]) > 1e-3


def test_attention_is_the_mean_over_source_tokens_and_the_max_over_target_tokens(model):
    slow = Slow(model)
    for request in ATTENTIONS:
        (weights,) = answers(model, request)
        expected = slow.attention(request)
        assert weights.shape == (2, 2, 2)
        assert weights == pytest.approx(expected, abs=1e-5)


def test_what_one_token_pays_to_all_is_one(bert):
    reading = read(bert.tokenizer, [SHORT], bert.longest)[0]
    words = [place for place in reading.places if place]
    request = Attention(SHORT, words[0], tuple(words))
    (weights,) = answers(bert, request)
    ids = torch.tensor([reading.ids])
    with hf_masked.eager(bert.model), torch.no_grad():
        layers = bert.model(ids, output_attentions=True).attentions
    to_cls_and_sep = [layer[0, :, 1, [0, -1]].sum(-1).numpy() for layer in layers]
    total = weights.sum(0) + np.array(to_cls_and_sep)
    assert total == pytest.approx(np.ones((2, 2)), abs=1e-5)


def test_attention_leaves_the_fast_kernels_as_they_were(bert):
    assert bert.model.config._attn_implementation == "sdpa"
    answers(bert, ATTENTIONS[0])
    assert bert.model.config._attn_implementation == "sdpa"


def test_a_vector_is_the_mean_of_all_tokens_or_the_first_or_those_of_a_span(model):
    mean, first, part = answers(model, Embed(SHORT), Embed(SHORT, "first"), Embed(SHORT, "span", *INES))
    slow = Slow(model)
    hidden = slow.hidden(SHORT)
    hidden_of_part = hidden[slow.inside(SHORT, *INES)]
    assert mean.dtype == np.float32
    assert mean == pytest.approx(hidden.mean(0), abs=1e-4)
    assert first == pytest.approx(hidden[0], abs=1e-4)
    assert part == pytest.approx(hidden_of_part.mean(0), abs=1e-4)


def test_batch_mates_change_nothing(model):
    alone = [answers(model, request)[0] for request in MIXED]
    together = answers(model, *MIXED)
    assert_same_numbers(alone, together)


def test_a_small_budget_changes_nothing(folders, bert):
    small = load_model(f"hf:{folders['bert']}?device=cpu&budget=30")
    assert_same_numbers(answers(small, *MIXED), answers(bert, *MIXED))


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_pieces_tell_where_they_stand_in_the_filled_text_without_spaces(folders, family):
    model = load_model(f"hf:{folders[family]}?device=cpu")
    text = "the brown suitcase"
    (pieces,) = answers(model, Fill("The trophy does not fit into ", text, " because it is too large."))
    assert pieces[0].start == 0
    assert pieces[-1].end == len(text)
    parts = [text[piece.start : piece.end] for piece in pieces]
    assert "".join(parts) == "thebrownsuitcase"


@pytest.mark.parametrize("family", ["roberta", "modernbert"])
def test_a_lone_space_token_belongs_to_the_word_it_leads_to(folders, family):
    model = load_model(f"hf:{folders[family]}?device=cpu")
    tokens = model.tokenizer.tokenize("cup ☃ cup")
    assert tokens[tokens.index("Ġ") + 1] == "â"
    snowman, cup = answers(model, Fill("cup ", "☃", " cup"), Fill("", "cup", " ☃ cup"))
    places = [(piece.start, piece.end) for piece in snowman]
    assert places == [(0, 0), (0, 1), (0, 1), (0, 1)]
    assert cup[-1].end == 3


def test_a_token_that_reaches_out_of_the_text_is_masked_whole_and_its_place_cut(bert):
    end_of_word = Fill("I poured wat", "er", " from it.")
    whole_word = Fill("I poured ", "water", " from it.")
    glued, whole = answers(bert, end_of_word, whole_word)
    (piece,) = glued
    assert piece.start == 0
    assert piece.end == 2
    assert numbers(glued) == pytest.approx(numbers(whole))


def test_pieces_of_a_pseudo_likelihood_stand_in_the_whole_text(bert):
    start, end = span(SHORT, "because she")
    (pieces,) = answers(bert, PseudoLikelihood(SHORT, start, end))
    assert pieces[0].start == start
    assert pieces[-1].end == end


def test_words_are_cut_at_spaces_where_the_tokenizer_cuts_none():
    vocabulary = [("[UNK]", 0.0), *((letter, -1.0) for letter in "cups he")]
    bare_tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=0))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bare_tokenizer)
    (reading,) = read(tokenizer, ["the  cups"], 99)
    assert len(reading.ids) == 9
    assert reading.words == [1, 1, 1, 2, 2, 2, 2, 2, 2]
    assert reading.rest_of_word(1) == [1, 2]


def test_candidates_of_equally_many_pieces_share_one_pass(bert, monkeypatch):
    batches_read = []
    usual = bert._compute_logprobs

    def watch_batches(batch):
        batches_read.extend(batch)
        return usual(batch)

    monkeypatch.setattr(bert, "_compute_logprobs", watch_batches)
    before = "The water was in the "
    after = " until it was full."
    requests = [Fill(before, "water", after), Fill(before, "because", after)]
    answers_in_order = answers(bert, *requests)
    assert len(batches_read) == 1
    assert_filled_as_slowly(bert, requests, answers_in_order)


def test_a_head_that_looks_around_gets_all_positions(bert):
    def add_first_state(_module, arguments):
        (states,) = arguments
        return (states + states[:, :1],)

    bert.model.cls.register_forward_pre_hook(add_first_state)
    looking = hf_masked.MaskedModel(bert.spec, bert.settings, bert.tokenizer, bert.model)
    assert looking.plan == "logits everywhere"
    fill = FILLS[1]
    assert_filled_as_slowly(looking, [fill], answers(looking, fill))


def test_a_family_that_does_not_ignore_padding_reads_texts_of_one_length_at_a_time(tmp_path):
    model = load_model(f"hf:{tiny('fnet', tmp_path)}?device=cpu")
    assert model.plan == "logits where masked, texts of one length a batch"
    assert_filled_as_slowly(model, FILLS, answers(model, *FILLS))


@pytest.mark.parametrize(("family", "changes"), [("fnet", {}), ("longformer", {"attention_window": 8})])
def test_a_family_without_attention_of_each_token_to_each_says_so(tmp_path, family, changes):
    folder = tiny(family, tmp_path, **changes)
    model = load_model(f"hf:{folder}?device=cpu")
    with pytest.raises(BadInput, match="ForMaskedLM returns no attention weights"):
        answers(model, ATTENTIONS[0])


def test_out_of_memory_halves_the_batch_and_goes_on(bert, monkeypatch):
    usual = answers(bert, *MIXED)
    sizes = []

    def small(module, arguments, named):
        sizes.append(named["attention_mask"].numel())
        if sizes[-1] > sizes[0] // 2:
            raise torch.OutOfMemoryError("out of memory")

    bert.model.base_model.register_forward_pre_hook(small, with_kwargs=True)
    assert_same_numbers(answers(bert, *MIXED), usual)
    assert sizes[0] == max(sizes)
    (note,) = bert.notes
    assert f"batches now have {sizes[0] // 2} tokens" in note


def test_half_precision_is_close_and_its_own_fingerprint(folders, bert):
    half = load_model(f"hf:{folders['bert']}?device=cpu&dtype=bfloat16")
    assert half.model.dtype == torch.bfloat16
    assert half.plan == "logits where masked"
    assert half.fingerprint != bert.fingerprint
    half_answers = answers(half, *FILLS)
    assert_same_numbers(half_answers, answers(bert, *FILLS), tolerance=0.5)
    for answer in half_answers:
        logprobs = torch.tensor(numbers(answer))
        is_finer = logprobs.bfloat16() != logprobs
        assert is_finer.any(), "the log-softmax, at least, is in float32"


@pytest.mark.parametrize(
    ("family", "positions", "most"), [("bert", 24, 24), ("roberta", 24, 22), ("deberta_v2", 24, 24)]
)
def test_a_text_may_have_as_many_tokens_as_positions_and_no_more(tmp_path, family, positions, most):
    folder = tiny(family, tmp_path, max_position_embeddings=positions)
    model = load_model(f"hf:{folder}?device=cpu")
    fits = "." * (most - 2)
    too_long = "." * (most - 1)
    answers(model, Embed(fits), Fill(fits[1:], ".", ""))
    refusal, vector = answers(model, Embed(too_long), Embed(fits))
    assert refusal == Refusal(f"{most + 1} tokens; the model reads at most {most}")
    assert vector.ndim == 1


@pytest.mark.parametrize(
    "request_",
    [
        Fill("a ", "", " b"),
        Fill("a ", "  ", " b"),
        PseudoLikelihood("water", 2, 2),
        PseudoLikelihood("", 0, 0),
        Attention(SHORT, (4, 5), (span(SHORT, "Nora"),)),
        Attention(SHORT, span(SHORT, "she"), ((0, 0),)),
        Embed(SHORT, "span"),
    ],
)
def test_what_has_no_token_has_no_probability(bert, request_):
    refusal, _ = answers(bert, request_, Embed("fine"))
    assert "makes no token of" in refusal.why


def test_windows_change_nothing(bert, monkeypatch):
    usual = answers(bert, *MIXED)
    monkeypatch.setattr(hf_masked, "WINDOW", 2)
    assert_same_numbers(answers(bert, *MIXED), usual)


def test_requests_of_another_kind_are_refused(bert):
    with pytest.raises(BadInput, match="cannot answer Ask requests, only Attention, Embed, Fill, PseudoLikelihood"):
        answers(bert, Ask("Who?", ("A", "B")))


def test_an_unknown_pooling_is_refused(bert):
    with pytest.raises(UnknownName, match="No pooling named 'last'"):
        answers(bert, Embed("cup", "last"))


def test_a_tokenizer_without_a_mask_is_refused(tmp_path):
    folder = tiny("bert", tmp_path)
    wrapped(wordpiece()).save_pretrained(folder)
    with pytest.raises(BadInput, match="its tokenizer has no mask token"):
        load_model(f"hf:{folder}?device=cpu")


def test_nothing_asked_nothing_answered(bert):
    assert answers(bert) == []


def test_an_encoder_without_its_head_gives_vectors_and_no_scores(folders, tmp_path):
    whole = load_model(f"hf:{folders['bert']}?device=cpu")
    whole.model.base_model.save_pretrained(tmp_path)
    whole.tokenizer.save_pretrained(tmp_path)
    encoder = load_model(f"hf:{tmp_path}?device=cpu")
    request = Embed(SHORT, "mean")
    (vector_of_whole,) = answers(whole, request)
    (vector_of_encoder,) = answers(encoder, request)
    assert np.array_equal(vector_of_whole, vector_of_encoder)
    assert encoder.can == {Embed}
    with pytest.raises(BadInput, match=r"no scoring fits .*embeddings only"):
        choose_scoring(None, encoder)


def test_an_encoder_without_some_of_its_body_is_refused(folders, tmp_path):
    whole = load_model(f"hf:{folders['bert']}?device=cpu")
    weights = whole.model.state_dict()
    first_layer = {key: weight for key, weight in weights.items() if "layer.1" not in key}
    whole.model.save_pretrained(tmp_path, state_dict=first_layer)
    whole.tokenizer.save_pretrained(tmp_path)
    with pytest.raises(BadInput, match=r"no weights for bert\.encoder\.layer\.1"):
        load_model(f"hf:{tmp_path}?device=cpu")
