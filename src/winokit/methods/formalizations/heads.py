"""Heads, which give each option a number, the losses over these, and the scores of candidates.

`FirstToken` and `Spans` are linear layers on the encoder's last states, without dropout or a layer between, as in Liu
et al.'s code; `head=dense` is allenai/winogrande's for RoBERTa: dropout, dense, tanh, dropout, linear. `GuessedWords`
and `WrittenWords` have no weights of their own: they ask the language-modelling head. The last step is done in float32
whatever the encoder's precision: options that differ by less than bfloat16 can tell would all be ties.

A judgement's candidates are "no" and "yes". Comparing, its query must beat its rivals; without any there is no answer,
where Liu et al.'s code compares with -100 and says "yes". Pointwise, an option is right if its number is above zero;
that is all a P formalization says, and a problem with candidates has an answer only where exactly one is right
(`judge=each`). Counting an undecided pair as half right, as `expected_accuracy` does, is then the accuracy over single
judgements. Liu et al.'s code judges the first candidate only, and its accuracy on WinoGrande is that (`judge=first`).
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
    """A number from the state of a row's first token."""

    def __init__(self, config: Any, switches: Switches) -> None:
        super().__init__()
        width = config.hidden_size
        linear = nn.Linear(width, 1)
        if switches.get("head") == "dense":
            dropout = getattr(config, "hidden_dropout_prob", 0.1)
            dense = nn.Linear(width, width)
            self.layers: nn.Module = nn.Sequential(nn.Dropout(dropout), dense, nn.Tanh(), nn.Dropout(dropout), linear)
        else:
            self.layers = linear

    def forward(self, encoder: Any, batch: Batch) -> Tensor:
        """Numbers of shape (options,)."""
        first = encoder(**batch.texts).last_hidden_state[:, 0]
        return in_float32(self.layers, first[batch.row])


class Spans(nn.Module):
    """A number from the first token's state and the mean states of two spans, side by side."""

    def __init__(self, config: Any, switches: Switches) -> None:
        super().__init__()
        self.layers = nn.Linear(3 * config.hidden_size, 1)

    def forward(self, encoder: Any, batch: Batch) -> Tensor:
        """Numbers of shape (options,)."""
        states = encoder(**batch.texts).last_hidden_state[batch.row]
        present = batch.places != NOWHERE
        at = batch.places.clamp(min=0).flatten(1).unsqueeze(-1).expand(-1, -1, states.shape[-1])
        tokens = states.gather(1, at).view(*batch.places.shape, -1)
        means = (tokens * present.unsqueeze(-1)).sum(2) / present.sum(2, keepdim=True)
        return in_float32(self.layers, torch.cat([states[:, 0], means.flatten(1)], -1))


class GuessedWords(nn.Module):
    """The mean (or summed) log-probability of an option's tokens at their places."""

    def __init__(self, config: Any, switches: Switches) -> None:
        super().__init__()
        self.mean = switches["reduce"] == "mean"
        self.gathers = True
        """Whether the language-modelling head may be given the masked positions only; told when a model is loaded."""

    def forward(self, encoder: Any, batch: Batch) -> Tensor:
        """Numbers of shape (options,)."""
        present = batch.tokens != NOWHERE
        rows = batch.row.unsqueeze(-1).expand_as(batch.tokens)
        places = batch.places[:, 0].clamp(min=0)
        tokens = batch.tokens.clamp(min=0)
        # Every option takes as many positions as the longest: a shape that is known without asking the device.
        flat = rows.flatten(), places.flatten()
        logits = logits_at(encoder, batch.texts, *flat, gather=self.gathers).float().view(*tokens.shape, -1)
        guessed = logits.gather(-1, tokens.unsqueeze(-1)).squeeze(-1) - logits.logsumexp(-1)
        total = (guessed * present).sum(-1)
        return total / present.sum(-1) if self.mean else total


class WrittenWords(nn.Module):
    """The mean (or summed) log-probability of what the decoder writes after an option."""

    def __init__(self, config: Any, switches: Switches) -> None:
        super().__init__()
        self.mean = switches["reduce"] == "mean"
        self.start = config.decoder_start_token_id
        """The token that the decoder begins with."""

    def forward(self, encoder: Any, batch: Batch) -> Tensor:
        """Numbers of shape (options,)."""
        states = encoder.get_encoder()(**batch.texts).last_hidden_state
        is_written = batch.tokens != NOWHERE
        tokens = batch.tokens.clamp(min=0)
        first = torch.full_like(tokens[:, :1], self.start)
        written = encoder(
            encoder_outputs=(states[batch.row],),
            attention_mask=batch.attention[batch.row],
            decoder_input_ids=torch.cat([first, tokens[:, :-1]], 1),
            decoder_attention_mask=is_written.long(),
            use_cache=False,
        )
        logits = written.logits.float()
        logprobs = logits.gather(-1, tokens.unsqueeze(-1)).squeeze(-1) - logits.logsumexp(-1)
        places = batch.places[:, 0]
        is_scored = places != NOWHERE
        scored = logprobs.gather(1, places.clamp(min=0)) * is_scored
        total = scored.sum(-1)
        numbers: Tensor = total / is_scored.sum(-1) if self.mean else total
        return numbers


def in_float32(layers: nn.Module, states: Tensor) -> Tensor:
    """One number per state, computed in float32."""
    with torch.autocast(states.device.type, enabled=False):
        numbers: Tensor = layers(states.float()).squeeze(-1)
    return numbers


def softmax(numbers: Tensor, batch: Batch, switches: Switches) -> Loss:
    """Cross entropy of the right option against all options of its case."""
    # (cases, options); minus infinity where a case has fewer options than others
    table = torch.full((batch.cases, batch.widest), -math.inf, device=numbers.device, dtype=numbers.dtype)
    table = table.index_put((batch.case, batch.column), numbers)
    return functional.cross_entropy(table, batch.gold, reduction="sum"), batch.cases


def binary(numbers: Tensor, batch: Batch, switches: Switches) -> Loss:
    """Binary cross entropy of each option, right or wrong by itself."""
    return functional.binary_cross_entropy_with_logits(numbers, batch.right, reduction="sum"), len(numbers)


def highest(case: Case, numbers: Sequence[float], switches: Switches) -> tuple[float, ...] | str:
    """The numbers as scores: the highest wins."""
    if not case.is_judgement:
        return _break_tie(tuple(numbers), switches["ties"], query=0)
    query, *rivals = numbers
    if not rivals:
        return NO_RIVAL
    return _break_tie((max(rivals), query), switches["ties"], query=1)


def judged(case: Case, numbers: Sequence[float], switches: Switches) -> tuple[float, ...] | str:
    """Scores by which the only option judged right wins.

    A text with the reason if no option, or more than one, is judged right.
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
    """Return the scores with a tie at the top resolved as `ties` says.

    The query loses (`strict`) or wins (`loose`) the tie, or it stays for an abstention.
    """
    best = max(scores)
    tied = [index for index, score in enumerate(scores) if score == best]
    if len(tied) == 1 or ties == "abstain":
        return scores
    others = [index for index in tied if index != query]
    query_wins = ties == "loose" and query in tied
    winner = query if query_wins else others[-1]
    settled = list(scores)
    settled[winner] = math.nextafter(best, math.inf)
    return tuple(settled)
