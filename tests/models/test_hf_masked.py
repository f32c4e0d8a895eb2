"""Tiny random models of each family, against a loop that masks, runs one text at a time and looks up all logits."""

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
    """Letters and some words, written out here since the trainer would find others each time."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = sorted({letter for letter in LONG.lower() if not letter.isspace()})
    words = "the water poured because into it is no she un help ropes ##ful ##it ##es ##ed".split()
    pieces = [*special, *letters, *(f"##{letter}" for letter in letters), *words]
    tokenizer = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def byte_level(*, trim_offsets: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(
        ("[SEP]", 2), ("[CLS]", 0), trim_offsets=trim_offsets, add_prefix_space=False
    )
    return tokenizer


def wrapped(tokenizer: Tokenizer, **special: str):
    names = {name: f"[{name[:-6].upper()}]" for name in ("pad_token", "unk_token", "cls_token", "sep_token")}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names, **special)


def tiny(family: str, folder: Path, **changes) -> Path:
    """A folder with a random model of the family and its tokenizer."""
    tokenizer = {
        "roberta": lambda: byte_level(trim_offsets=True),
        "modernbert": lambda: byte_level(trim_offsets=False),
    }.get(family, wordpiece)()
    names = {"deberta_v2": "DebertaV2", "modernbert": "ModernBert", "distilbert": "DistilBert", "fnet": "FNet"}
    name = names.get(family, family.capitalize())
    sizes = SIZES | {"vocab_size": tokenizer.get_vocab_size(), "pad_token_id": tokenizer.token_to_id("[PAD]")}
    if family == "deberta_v2":
        sizes |= {"relative_attention": True, "position_buckets": 8, "pos_att_type": ["p2c", "c2p"]}
        sizes |= {"position_biased_input": False, "norm_rel_ebd": "layer_norm", "share_att_key": True}
    if family == "modernbert":
        # The window is shorter than the texts, so that local attention is really local.
        sizes |= {"local_attention": 8, "bos_token_id": 0, "cls_token_id": 0, "eos_token_id": 2, "sep_token_id": 2}
    if family == "distilbert":
        sizes |= {"dim": 16, "hidden_dim": 24, "n_layers": 2, "n_heads": 2}
    if family in ("albert", "electra"):
        sizes |= {"embedding_size": 8}
    torch.manual_seed(7)
    config = getattr(transformers, f"{name}Config")(**sizes | changes)
    getattr(transformers, f"{name}ForMaskedLM")(config).save_pretrained(folder)
    wrapped(tokenizer, mask_token="[MASK]").save_pretrained(folder)
    return folder


FAMILIES = ("bert", "roberta", "albert", "deberta_v2", "modernbert", "distilbert", "electra")


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Models this small lose more to a second thread than they gain."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module", params=FAMILIES)
def model(request, tmp_path_factory):
    return load_model(f"hf:{tiny(request.param, tmp_path_factory.mktemp(request.param))}?device=cpu")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {family: tiny(family, tmp_path_factory.mktemp(family)) for family in ("bert", "roberta", "modernbert")}


@pytest.fixture
def bert(folders):
    return load_model(f"hf:{folders['bert']}?device=cpu")


def answers(model, *requests):
    found = dict(model.answer(requests))
    return [found[index] for index in range(len(requests))]


class Slow:
    """One text at a time, nothing padded, nothing shared."""

    def __init__(self, model):
        self.tokenizer, self.model = model.tokenizer, model.model

    def encode(self, text):
        encoded = self.tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
        return encoded, encoded["input_ids"]

    def inside(self, text, start, end):
        """Tokens with a letter in the span; a token of nothing but space goes with the one after it."""
        encoded, _ = self.encode(text)
        places = encoded["offset_mapping"]
        special = encoded["special_tokens_mask"]
        found = []
        for at in reversed(range(len(places))):
            letters = [c for c in range(*places[at]) if not text[c].isspace()]
            inside = any(start <= c < end for c in letters) if letters else bool(found) and found[-1] == at + 1
            if inside and not special[at]:
                found.append(at)
        return found[::-1]

    def logprob(self, text, position, hidden):
        ids = torch.tensor([self.encode(text)[1]])
        token = ids[0, position].item()
        ids[0, hidden] = self.tokenizer.mask_token_id
        with torch.no_grad():
            logits = self.model(input_ids=ids).logits[0, position]
        return logits.log_softmax(-1)[token].item()

    def fill(self, request):
        text = request.before + request.text + request.after
        hidden = self.inside(text, len(request.before), len(request.before) + len(request.text))
        return [self.logprob(text, position, hidden) for position in hidden]

    def pseudo_likelihood(self, request):
        words = self.encode(request.text)[0].word_ids()
        values = []
        for position in self.inside(request.text, request.start, request.end):
            hidden = [position]
            if request.within_word:
                hidden = [at for at in range(position, len(words)) if words[at] == words[position]]
            values.append(self.logprob(request.text, position, hidden))
        return values

    def attention(self, request):
        ids = torch.tensor([self.encode(request.text)[1]])
        with hf_masked.eager(self.model), torch.no_grad():
            layers = self.model(input_ids=ids, output_attentions=True).attentions
        source = self.inside(request.text, *request.source)
        found = np.zeros((len(request.targets), len(layers), layers[0].shape[1]))
        for t, target in enumerate(request.targets):
            for number, layer in enumerate(layers):
                for head in range(layer.shape[1]):
                    paid = [
                        np.mean([layer[0, head, at, to].item() for at in source])
                        for to in self.inside(request.text, *target)
                    ]
                    found[t, number, head] = max(paid)
        return found

    def hidden(self, text):
        ids = torch.tensor([self.encode(text)[1]])
        with torch.no_grad():
            return self.model.base_model(input_ids=ids).last_hidden_state[0].numpy()


def span(text, part):
    return text.index(part), text.index(part) + len(part)


FILLS = (
    Fill("Nora thanked ", "Ines", " because she had been helped."),
    Fill("The trophy does not fit into ", "the brown suitcase", " because it is too large."),
    Fill("", "Unhelpful people", " poured out the unfitting water."),
    Fill("I poured water until it was ", "full", ""),
)
MIXED = (
    *FILLS,
    PseudoLikelihood(SHORT, 0, len(SHORT)),
    PseudoLikelihood(LONG, *span(LONG, "unfitting water")),
    PseudoLikelihood(LONG, *span(LONG, "unfitting water"), within_word=True),
    Attention(SHORT, span(SHORT, "she"), (span(SHORT, "Nora"), span(SHORT, "Ines"))),
    Attention(LONG, span(LONG, "it is"), (span(LONG, "trophy"), span(LONG, "brown suitcase"))),
    Embed(SHORT),
    Embed(LONG, "first"),
    Embed(SHORT, "span", *span(SHORT, "Ines")),
)


def numbers(answer):
    return answer if isinstance(answer, np.ndarray) else np.array([piece.logprob for piece in answer])


def test_every_family_is_a_masked_model_whose_head_takes_positions(model):
    assert isinstance(model, Model)
    assert model.kind == "masked"
    assert model.can == {Fill, PseudoLikelihood, Attention, Embed}
    assert model.plan == "logits where masked"
    assert model.fingerprint.startswith("hf masked ")


def test_a_fill_masks_all_pieces_at_once(model):
    for request, pieces in zip(FILLS, answers(model, *FILLS), strict=True):
        assert numbers(pieces) == pytest.approx(Slow(model).fill(request), abs=1e-4)


@pytest.mark.parametrize("within_word", [False, True])
def test_a_pseudo_likelihood_masks_each_token_by_itself_or_with_the_rest_of_its_word(model, within_word):
    requests = [PseudoLikelihood(text, 0, len(text), within_word) for text in SENTENCES[1:4:2]]
    requests.append(PseudoLikelihood(LONG, *span(LONG, "unfitting"), within_word))
    for request, pieces in zip(requests, answers(model, *requests), strict=True):
        assert numbers(pieces) == pytest.approx(Slow(model).pseudo_likelihood(request), abs=1e-4)


def test_the_two_pseudo_likelihoods_differ_where_a_word_has_pieces(bert):
    places = span(SENTENCES[4], "Unhelpful")
    plain, corrected = answers(
        bert, PseudoLikelihood(SENTENCES[4], *places), PseudoLikelihood(SENTENCES[4], *places, within_word=True)
    )
    assert len(plain) > 2
    assert plain[-1].logprob == pytest.approx(corrected[-1].logprob, abs=1e-4)
    assert abs(plain[0].logprob - corrected[0].logprob) > 1e-3


def test_attention_is_the_mean_over_source_tokens_and_the_max_over_target_tokens(model):
    for request in MIXED:
        if isinstance(request, Attention):
            (found,) = answers(model, request)
            assert found.shape == (2, 2, 2)
            assert found == pytest.approx(Slow(model).attention(request), abs=1e-5)


def test_what_one_token_pays_to_all_is_one(bert):
    reading = read(bert.tokenizer, [SHORT], bert.longest)[0]
    words = [place for place in reading.places if place]
    (found,) = answers(bert, Attention(SHORT, words[0], tuple(words)))
    with hf_masked.eager(bert.model), torch.no_grad():
        layers = bert.model(torch.tensor([reading.ids]), output_attentions=True).attentions
    to_cls_and_sep = np.array([layer[0, :, 1, [0, -1]].sum(-1).numpy() for layer in layers])
    assert found.sum(0) + to_cls_and_sep == pytest.approx(np.ones((2, 2)), abs=1e-5)


def test_attention_leaves_the_fast_kernels_as_they_were(bert):
    assert bert.model.config._attn_implementation == "sdpa"
    answers(bert, MIXED[7])
    assert bert.model.config._attn_implementation == "sdpa"


def test_a_vector_is_the_mean_of_all_tokens_or_the_first_or_those_of_a_span(model):
    mean, first, part = answers(model, Embed(SHORT), Embed(SHORT, "first"), Embed(SHORT, "span", *span(SHORT, "Ines")))
    hidden = Slow(model).hidden(SHORT)
    assert mean.dtype == np.float32
    assert mean == pytest.approx(hidden.mean(0), abs=1e-4)
    assert first == pytest.approx(hidden[0], abs=1e-4)
    assert part == pytest.approx(hidden[Slow(model).inside(SHORT, *span(SHORT, "Ines"))].mean(0), abs=1e-4)


def test_batch_mates_change_nothing(model):
    alone = [answers(model, request)[0] for request in MIXED]
    together = answers(model, *MIXED)
    for one, other in zip(alone, together, strict=True):
        assert numbers(one) == pytest.approx(numbers(other), abs=1e-4)


def test_a_small_budget_changes_nothing(folders, bert):
    for one, other in zip(
        answers(load_model(f"hf:{folders['bert']}?device=cpu&budget=30"), *MIXED), answers(bert, *MIXED), strict=True
    ):
        assert numbers(one) == pytest.approx(numbers(other), abs=1e-4)


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_pieces_tell_where_they_stand_in_the_filled_text_without_spaces(folders, family):
    model = load_model(f"hf:{folders[family]}?device=cpu")
    text = "the brown suitcase"
    (pieces,) = answers(model, Fill("The trophy does not fit into ", text, " because it is too large."))
    assert pieces[0].start == 0
    assert pieces[-1].end == len(text)
    assert "".join(text[piece.start : piece.end] for piece in pieces) == text.replace(" ", "")


@pytest.mark.parametrize("family", ["roberta", "modernbert"])
def test_a_lone_space_token_belongs_to_the_word_it_leads_to(folders, family):
    model = load_model(f"hf:{folders[family]}?device=cpu")
    tokens = model.tokenizer.tokenize("cup ☃ cup")
    assert tokens[tokens.index("Ġ") + 1] == "â"
    snowman, cup = answers(model, Fill("cup ", "☃", " cup"), Fill("", "cup", " ☃ cup"))
    assert [(piece.start, piece.end) for piece in snowman] == [(0, 0), (0, 1), (0, 1), (0, 1)]
    assert cup[-1].end == 3


def test_a_token_that_reaches_out_of_the_text_is_masked_whole_and_its_place_cut(bert):
    glued, whole = answers(bert, Fill("I poured wat", "er", " from it."), Fill("I poured ", "water", " from it."))
    assert [(piece.start, piece.end) for piece in glued] == [(0, 2)]
    assert numbers(glued) == pytest.approx(numbers(whole))


def test_pieces_of_a_pseudo_likelihood_stand_in_the_whole_text(bert):
    (pieces,) = answers(bert, PseudoLikelihood(SHORT, *span(SHORT, "because she")))
    assert (pieces[0].start, pieces[-1].end) == span(SHORT, "because she")


def test_words_are_cut_at_spaces_where_the_tokenizer_cuts_none():
    tokenizer = Tokenizer(models.Unigram([("[UNK]", 0.0), *((letter, -1.0) for letter in "cups he")], unk_id=0))
    reading = read(transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer), ["the  cups"], 99)[0]
    assert len(reading.ids) == 9
    assert reading.words == [1, 1, 1, 2, 2, 2, 2, 2, 2]
    assert reading.rest_of_word(1) == [1, 2]


def test_candidates_of_equally_many_pieces_share_one_pass(bert, monkeypatch):
    seen = []
    usual = bert._compute_logprobs
    monkeypatch.setattr(bert, "_compute_logprobs", lambda batch: seen.extend(batch) or usual(batch))
    before = "The water was in the "
    after = " until it was full."
    requests = [Fill(before, "water", after), Fill(before, "because", after)]
    found = answers(bert, *requests)
    assert len(seen) == 1
    for request, pieces in zip(requests, found, strict=True):
        assert numbers(pieces) == pytest.approx(Slow(bert).fill(request), abs=1e-4)


def test_a_head_that_looks_around_gets_all_positions(bert):
    bert.model.cls.register_forward_pre_hook(lambda module, hidden: (hidden[0] + hidden[0][:, :1],))
    looking = hf_masked.MaskedModel(bert.spec, bert.settings, bert.tokenizer, bert.model)
    assert looking.plan == "logits everywhere"
    (pieces,) = answers(looking, FILLS[1])
    assert numbers(pieces) == pytest.approx(Slow(looking).fill(FILLS[1]), abs=1e-4)


def test_a_family_that_does_not_ignore_padding_reads_texts_of_one_length_at_a_time(tmp_path):
    model = load_model(f"hf:{tiny('fnet', tmp_path)}?device=cpu")
    assert model.plan == "logits where masked, texts of one length a batch"
    for request, pieces in zip(FILLS, answers(model, *FILLS), strict=True):
        assert numbers(pieces) == pytest.approx(Slow(model).fill(request), abs=1e-4)


@pytest.mark.parametrize(("family", "changes"), [("fnet", {}), ("longformer", {"attention_window": 8})])
def test_a_family_without_attention_of_each_token_to_each_says_so(tmp_path, family, changes):
    model = load_model(f"hf:{tiny(family, tmp_path, **changes)}?device=cpu")
    with pytest.raises(BadInput, match="ForMaskedLM returns no attention weights"):
        answers(model, MIXED[7])


def test_out_of_memory_halves_the_batch_and_goes_on(bert, monkeypatch):
    usual = answers(bert, *MIXED)
    sizes = []

    def small(module, arguments, named):
        sizes.append(named["attention_mask"].numel())
        if sizes[-1] > sizes[0] // 2:
            raise torch.OutOfMemoryError("out of memory")

    bert.model.base_model.register_forward_pre_hook(small, with_kwargs=True)
    for one, other in zip(answers(bert, *MIXED), usual, strict=True):
        assert numbers(one) == pytest.approx(numbers(other), abs=1e-4)
    assert sizes[0] == max(sizes)
    (note,) = bert.notes
    assert f"batches now have {sizes[0] // 2} tokens" in note


def test_half_precision_is_close_and_its_own_fingerprint(folders, bert):
    half = load_model(f"hf:{folders['bert']}?device=cpu&dtype=bfloat16")
    assert half.model.dtype == torch.bfloat16
    assert half.plan == "logits where masked"
    assert half.fingerprint != bert.fingerprint
    for one, other in zip(answers(half, *FILLS), answers(bert, *FILLS), strict=True):
        assert numbers(one) == pytest.approx(numbers(other), abs=0.5)
        logprobs = torch.tensor(numbers(one))
        assert (logprobs.bfloat16() != logprobs).any(), "the log-softmax, at least, is in float32"


@pytest.mark.parametrize(
    ("family", "positions", "most"), [("bert", 24, 24), ("roberta", 24, 22), ("deberta_v2", 24, 24)]
)
def test_a_text_may_have_as_many_tokens_as_positions_and_no_more(tmp_path, family, positions, most):
    model = load_model(f"hf:{tiny(family, tmp_path, max_position_embeddings=positions)}?device=cpu")
    fits = "." * (most - 2)
    too_long = "." * (most - 1)
    answers(model, Embed(fits), Fill(fits[1:], ".", ""))
    told, vector = answers(model, Embed(too_long), Embed(fits))
    assert told == Refusal(f"{most + 1} tokens; the model reads at most {most}")
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
    refused, _ = answers(bert, request_, Embed("fine"))
    assert "makes no token of" in refused.why


def test_windows_change_nothing(bert, monkeypatch):
    usual = answers(bert, *MIXED)
    monkeypatch.setattr(hf_masked, "WINDOW", 2)
    for one, other in zip(answers(bert, *MIXED), usual, strict=True):
        assert numbers(one) == pytest.approx(numbers(other), abs=1e-4)


def test_other_requests_and_poolings_are_refused(bert):
    with pytest.raises(BadInput, match="cannot answer Ask requests, only Attention, Embed, Fill, PseudoLikelihood"):
        answers(bert, Ask("Who?", ("A", "B")))
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
    asked = Embed(SHORT, "mean")
    assert np.array_equal(*answers(whole, asked), *answers(encoder, asked))
    assert encoder.can == {Embed}
    with pytest.raises(BadInput, match=r"no scoring fits .*embeddings only"):
        choose_scoring(None, encoder)


def test_an_encoder_without_some_of_its_body_is_refused(folders, tmp_path):
    whole = load_model(f"hf:{folders['bert']}?device=cpu")
    weights = {key: value for key, value in whole.model.state_dict().items() if "layer.1" not in key}
    whole.model.save_pretrained(tmp_path, state_dict=weights)
    whole.tokenizer.save_pretrained(tmp_path)
    with pytest.raises(BadInput, match=r"no weights for bert\.encoder\.layer\.1"):
        load_model(f"hf:{tmp_path}?device=cpu")
