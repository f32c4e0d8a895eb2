"""Heads, which give each option a number, with losses and decisions.

`FirstToken` and `Spans` are linear layers on the encoder's last states, without dropout or a layer between, as in Liu
et al.'s code. `head=dense` is allenai/winogrande's for RoBERTa: dropout, dense, tanh, dropout, linear. `GuessedWords`
and `WrittenWords` have no weights of their own: they use the language-modelling head. The last step is done in float32,
since options that bfloat16 cannot distinguish would be ties.

A judgement's candidates are "no" and "yes". A formalization that compares answers "yes" if the query beats its rivals.
Without rivals there is no answer, while Liu et al.'s code compares with -100 and says "yes". A pointwise formalization
calls an option right if its number is above zero. A problem with candidates then has an answer only if exactly one is
right (`judge=each`). Counting an undecided pair as half right, as `expected_accuracy` does, is then the accuracy over
single judgements. Liu et al.'s code judges only the first candidate, and so reports its accuracy on WinoGrande
(`judge=first`).
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from winokit.methods.formalizations.base import Loss, Switches
from winokit.methods.formalizations.batch import NOWHERE, Batch
from winokit.methods.formalizations.cases import Case
from winokit.models.hf_masked import logits_at

JUDGING = {"judge": ("each", "first"), "ties": ("abstain", "strict", "loose")}
NO_RIVAL = "no rival to compare with"
RIGHT = 0.0


class FirstToken(nn.Module):
    """Head that computes an option's number from the first token's state.

    `config` is the encoder's configuration.
    """

    def __init__(self, config: Any, switches: Switches) -> None:
        super().__init__()
        width = config.hidden_size
        linear = nn.Linear(width, 1)
        if switches.get("head") == "dense":
            dropout = getattr(config, "hidden_dropout_prob", 0.1)
            dense = nn.Linear(width, width)
            layers = (nn.Dropout(dropout), dense, nn.Tanh(), nn.Dropout(dropout), linear)
            self.layers: nn.Module = nn.Sequential(*layers)
        else:
            self.layers = linear

    def forward(self, encoder: Any, batch: Batch) -> Tensor:
        """Return one number per option."""
        states = encoder(**batch.texts).last_hidden_state
        first_states = states[:, 0]
        return in_float32(self.layers, first_states[batch.row])


class Spans(nn.Module):
    """Head that computes an option's number from the states of two spans.

    The first token's state and the mean state of each span are put side by side.
    """

    def __init__(self, config: Any, switches: Switches) -> None:
        super().__init__()
        self.layers = nn.Linear(3 * config.hidden_size, 1)

    def forward(self, encoder: Any, batch: Batch) -> Tensor:
        """Return one number per option."""
        states = encoder(**batch.texts).last_hidden_state[batch.row]
        is_place = batch.places != NOWHERE
        positions = batch.places.clamp(min=0).flatten(1)
        indices = positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])
        span_states = states.gather(1, indices).view(*batch.places.shape, -1)
        sums = (span_states * is_place.unsqueeze(-1)).sum(2)
        means = sums / is_place.sum(2, keepdim=True)
        features = torch.cat([states[:, 0], means.flatten(1)], -1)
        return in_float32(self.layers, features)


class GuessedWords(nn.Module):
    """Head whose number is the log-probability of an option's hidden tokens.

    It is the mean over the tokens, or the sum with `reduce=sum`.
    """

    def __init__(self, config: Any, switches: Switches) -> None:
        super().__init__()
        self.mean = switches["reduce"] == "mean"
        self.gathers = True
        """Whether the language-modelling head can be called for the hidden positions alone.

        This is found out when a model is loaded.
        """

    def forward(self, encoder: Any, batch: Batch) -> Tensor:
        """Return one number per option."""
        is_token = batch.tokens != NOWHERE
        rows = batch.row.unsqueeze(-1).expand_as(batch.tokens)
        places = batch.places[:, 0].clamp(min=0)
        tokens = batch.tokens.clamp(min=0)
        # Every option takes as many positions as the longest: a shape that is known without asking the device.
        flat_logits = logits_at(encoder, batch.texts, rows.flatten(), places.flatten(), gather=self.gathers)
        logits = flat_logits.float().view(*tokens.shape, -1)
        token_logits = logits.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
        logprobs = token_logits - logits.logsumexp(-1)
        total = (logprobs * is_token).sum(-1)
        return total / is_token.sum(-1) if self.mean else total


class WrittenWords(nn.Module):
    """Head whose number is the log-probability of what a decoder writes.

    That is the text after the option. It is the sum over the tokens, or the mean with `reduce=mean`.
    """

    def __init__(self, config: Any, switches: Switches) -> None:
        super().__init__()
        self.mean = switches["reduce"] == "mean"
        self.start = config.decoder_start_token_id
        """Id of the token with which the decoder begins."""

    def forward(self, encoder: Any, batch: Batch) -> Tensor:
        """Return one number per option."""
        states = encoder.get_encoder()(**batch.texts).last_hidden_state
        is_token = batch.tokens != NOWHERE
        tokens = batch.tokens.clamp(min=0)
        first = torch.full_like(tokens[:, :1], self.start)
        decoder_ids = torch.cat([first, tokens[:, :-1]], 1)
        output = encoder(
            encoder_outputs=(states[batch.row],),
            attention_mask=batch.attention[batch.row],
            decoder_input_ids=decoder_ids,
            decoder_attention_mask=is_token.long(),
            use_cache=False,
        )
        logits = output.logits.float()
        token_logits = logits.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
        logprobs = token_logits - logits.logsumexp(-1)
        places = batch.places[:, 0]
        is_scored = places != NOWHERE
        scored_logprobs = logprobs.gather(1, places.clamp(min=0)) * is_scored
        total = scored_logprobs.sum(-1)
        numbers: Tensor = total / is_scored.sum(-1) if self.mean else total
        return numbers


def in_float32(layers: nn.Module, states: Tensor) -> Tensor:
    """Apply layers of width 1 to states in float32, whatever the precision around."""
    with torch.autocast(states.device.type, enabled=False):
        numbers: Tensor = layers(states.float()).squeeze(-1)
    return numbers


def softmax(numbers: Tensor, batch: Batch, switches: Switches) -> Loss:
    """Cross entropy of the right option among the options of its case.

    `numbers` has one number per option. Returns the sum over cases, and their number.
    """
    # (cases, options); minus infinity where a case has fewer options than others
    shape = (batch.cases, batch.widest)
    table = torch.full(shape, -math.inf, device=numbers.device, dtype=numbers.dtype)
    table = table.index_put((batch.case, batch.column), numbers)
    return functional.cross_entropy(table, batch.gold, reduction="sum"), batch.cases


def binary(numbers: Tensor, batch: Batch, switches: Switches) -> Loss:
    """Binary cross entropy of each option, as right or wrong by itself.

    `numbers` has one number per option. Returns the sum over options, and their number.
    """
    total = functional.binary_cross_entropy_with_logits(numbers, batch.right, reduction="sum")
    return total, len(numbers)


def highest(case: Case, numbers: Sequence[float], switches: Switches) -> tuple[float, ...] | str:
    """Return scores by which the option with the highest number wins.

    A judgement has a score for "no", the best rival's number, and one for "yes", the query's. Without a rival, the
    reason is returned instead. The switch `ties` resolves ties as in `_break_tie`, where the first of several
    candidates counts as the query.
    """
    if not case.is_judgement:
        return _break_tie(tuple(numbers), switches["ties"], query=0)
    query, *rivals = numbers
    if not rivals:
        return NO_RIVAL
    return _break_tie((max(rivals), query), switches["ties"], query=1)


def judged(case: Case, numbers: Sequence[float], switches: Switches) -> tuple[float, ...] | str:
    """Return scores by which the only option judged right wins.

    An option is judged right if its number is above 0, or is 0 with `ties=loose`. If none is, or more than one, the
    reason is returned instead. With `judge=first` only the first candidate is judged, and the others have 0. A
    judgement has 0 for "no" and the query's number for "yes".
    """
    if case.is_judgement:
        return _break_tie((RIGHT, numbers[0]), switches["ties"], query=1)
    if switches["judge"] == "first":
        other_scores = [RIGHT] * (len(numbers) - 1)
        return _break_tie((numbers[0], *other_scores), switches["ties"], query=0)
    if switches["ties"] == "loose":
        right_count = sum(number >= RIGHT for number in numbers)
    else:
        right_count = sum(number > RIGHT for number in numbers)
    if right_count == 0:
        return "no candidate is judged right"
    if right_count > 1:
        return f"{right_count} candidates are judged right"
    return tuple(numbers)


def _break_tie(scores: tuple[float, ...], ties: str, *, query: int) -> tuple[float, ...]:
    """Return the scores with a tie for the highest resolved.

    `query` is an index. With `ties="strict"` the query loses the tie, with `loose` it wins. If it loses, or is not
    among the tied, the last other one wins. The winner's score is raised by the least possible step. With `abstain`
    the tie remains.
    """
    best = max(scores)
    tied = [index for index, score in enumerate(scores) if score == best]
    if len(tied) == 1 or ties == "abstain":
        return scores
    others = [index for index in tied if index != query]
    query_wins = ties == "loose" and query in tied
    winner = query if query_wins else others[-1]
    resolved_scores = list(scores)
    resolved_scores[winner] = math.nextafter(best, math.inf)
    return tuple(resolved_scores)
