"""Decide which cached answers of a model may be used again.

Answers of a model on this machine are kept under a digest of its weights, and hold for good. What determines the
answers of a server is not known here. What it says of its model is part of the key (`models.identity`); where that
says too little, a few kept answers are asked again before the others are used (`canary`). Nothing is replayed in
silence: answers have dates, and every run counts them (`replay`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from winokit.methods.scoring.cache import Cache, key_of
from winokit.methods.scoring.replay import ASKED_AGAIN, SAME_MODEL, SAMPLED, UNREACHED, KeptAnswer
from winokit.models.base import Answer, Model, ModelOfModels, Refusal, Request

if TYPE_CHECKING:
    from winokit.models.identity import ServerIdentity

Kept = Mapping[Request, KeptAnswer]


class ModelShelf:
    """Cached answers of one model, and the model for missing ones.

    `find` comes first, then `check`, then `ask`.
    """

    def __init__(self, model: Model, cache: Cache) -> None:
        self._model = model
        self._cache = cache
        self._ledger = cache.ledger
        self._replays = cache.ledger.replays
        self._identity = server_identity(model, cache)
        self._keys: dict[Request, bytes] = {}
        """Cache key of each request, under which new answers are kept."""

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint under which new answers are cached.

        It is the model's, with its server's identity.
        """
        return served_fingerprint(self._model, self._identity)

    def find(self, requests: Sequence[Request]) -> dict[Request, KeptAnswer]:
        """Look up the cached answers to requests.

        They are looked up for the model as it is, then under fingerprints of earlier versions of winokit. Requests
        without a cached answer are missing from the result. `ask` can keep answers only to requests that were looked
        up here. With --set forget=on, cached answers of a server are deleted instead, except those of this run.
        """
        sure = self._identity is None or self._identity.tells
        self._keys = {request: key_of(self.fingerprint, request) for request in requests}
        kept_answers = self._find_under(self._keys, sure)
        if self.fingerprint != self._model.fingerprint:
            # Kept by a version that did not ask servers who they are, or when this one did not say.
            kept_answers |= self._find_under(self._build_other_keys(self._model.fingerprint, kept_answers), sure=False)
        reread = getattr(self._model, "reread", None)
        if reread is None:
            return kept_answers
        for place, fingerprint in enumerate(getattr(self._model, "earlier", ())):
            found_answers = self._find_under(
                self._build_other_keys(fingerprint, kept_answers), sure=self._identity is None
            )
            for request, each in found_answers.items():
                kept_answers[request] = replace(each, answer=reread(request, place, each.answer))
        return kept_answers

    def choose_canaries(self, kept: Kept, missing: Sequence[Request]) -> list[Request]:
        """Choose requests to repeat, to check the cached answers.

        `kept` are the cached answers, `missing` the requests without one. Empty if no check is needed or possible. The
        chosen requests are counted in the ledger, and a dry run counts all answers as checked.
        """
        unsure = self._list_unsure(kept)
        is_comparable = not self._is_sampled and not self._is_out_of_reach(missing)
        if not unsure or not is_comparable:
            return []
        from winokit.methods.scoring.canary import choose_canaries

        most = self._count_canaries_left
        requests_left = self._ledger.requests_left
        if requests_left is not None:
            reserved = 1 if missing else 0  # a run under a limit gets on, however small the limit is
            most = min(most, requests_left - reserved)
        canaries = choose_canaries(unsure, most)
        self._replays.note_canaries(self._canary_heading, len(canaries))
        if self._ledger.spending.dry_run:
            self._replays.accept(unsure.values())
        return canaries

    def check(self, kept: Kept, canaries: Sequence[Request], missing: Sequence[Request]) -> None:
        """Repeat the canaries, and compare the answers with the cached ones.

        Raises AskingStopped if they differ. Results are noted in the ledger's replays.
        """
        if self._identity is None:
            return
        unsure = self._list_unsure(kept)
        if not unsure:
            if self._identity.tells:
                self._replays.note_check(self._model, SAME_MODEL)
            return
        if self._is_out_of_reach(missing):
            self._accept_unchecked(unsure, UNREACHED)
            return
        answers = self._ask_again(canaries)
        if self._is_sampled:
            self._accept_unchecked(unsure, SAMPLED)
            return
        self._refuse_different(unsure, answers)
        if answers or not self._count_canaries_left:
            self._replays.note_check(self._model, ASKED_AGAIN, [kept[request] for request in answers])
            self._replays.accept(unsure.values())

    def is_checked(self, kept: Kept) -> bool:
        """Whether all cached answers may be used.

        A limit on spending may have prevented the check.
        """
        return not self._list_unsure(kept)

    def ask(self, missing: Sequence[Request], kept: Kept) -> Iterator[tuple[Request, Answer]]:
        """Ask the model, and cache every answer as it comes.

        Yields requests with their answers. Raises AskingStopped if a server's first replies cannot be read.
        """
        if self._identity is None:
            yield from self._ask_and_keep(missing)
            return
        from winokit.methods.scoring.first_replies import FirstReplies, is_read

        first = FirstReplies(any(is_read(each.answer) for each in kept.values()))
        # The first by themselves, so that no more are sent, and paid for, where they are in vain.
        for part in first.parts(missing):
            for request, answer in self._ask_and_keep(part):
                first.look_at(request, answer)
                if first.hopeless:
                    self._cache.forget(self._keys[request] for request in first.requests)
                    raise first.error(self._model)
                yield request, answer

    def _ask_and_keep(self, missing: Sequence[Request]) -> Iterator[tuple[Request, Answer]]:
        """Yield the model's answers, and cache those that are no refusals."""
        for index, answer in self._model.answer(missing) if missing else ():
            request = missing[index]
            # A refusal is quickly told again, and may be a matter of what the fingerprint leaves out: a server, n_ctx.
            if not isinstance(answer, Refusal):
                self._cache.keep(self._keys[request], answer)
                self._replays.note_asked(self._model, self._keys[request])
            yield request, answer

    def _is_out_of_reach(self, missing: Sequence[Request]) -> bool:
        """Whether the server cannot be reached, and nothing is missing.

        If something is missing, it must be asked anyway.
        """
        return self._identity is not None and not self._identity.reached and not missing

    @property
    def _is_sampled(self) -> bool:
        """Whether the model's replies vary from time to time.

        A server may say so only when it is asked.
        """
        return bool(getattr(self._model, "samples", False))

    @property
    def _canary_heading(self) -> tuple[str, ...]:
        """Heading under which canaries are counted.

        It is the model and the scoring, for all variants.
        """
        return (self._model.fingerprint, *self._ledger.heading[:2])

    @property
    def _count_canaries_left(self) -> int:
        """Number of canaries that may still be asked."""
        from winokit.methods.scoring.canary import CANARIES

        return self._replays.canaries_left(self._canary_heading, CANARIES)

    def _list_unsure(self, kept: Kept) -> dict[Request, KeptAnswer]:
        """Cached answers that may be outdated and were not checked yet."""
        unsure = {request: each for request, each in kept.items() if not each.sure}
        return {request: each for request, each in unsure.items() if not self._replays.is_accepted(each)}

    def _accept_unchecked(self, unsure: Kept, check: str) -> None:
        """Allow cached answers that cannot be compared, and note the reason."""
        self._replays.note_check(self._model, check)
        self._replays.accept(unsure.values())

    def _ask_again(self, requests: Sequence[Request]) -> dict[Request, Answer]:
        """Ask the model now, within the limits, without caching the answers."""
        affordable = self._ledger.affordable(self._model, requests)
        if not affordable:
            return {}
        return {affordable[index]: answer for index, answer in self._model.answer(affordable)}

    def _refuse_different(self, unsure: Kept, answers: Mapping[Request, Answer]) -> None:
        """Raise AskingStopped if new answers differ from the cached ones.

        A request that differs is asked once more: a server that is of two minds about a question has not changed.
        """
        from winokit.methods.scoring.canary import find_different, replay_refusal

        again = self._ask_again(find_different(unsure, answers))
        different = find_different(unsure, again)
        if different:
            raise replay_refusal(self._model, different[0], unsure, again[different[0]])

    def _build_other_keys(self, fingerprint: str, kept: Kept) -> dict[Request, bytes]:
        """Keys under another fingerprint, for requests without a cached answer."""
        return {request: key_of(fingerprint, request) for request in self._keys if request not in kept}

    def _find_under(self, keys: Mapping[Request, bytes], sure: bool) -> dict[Request, KeptAnswer]:
        """Look up cached answers by the key of each request.

        `sure` says whether the key identifies the model for certain.
        """
        found_answers = self._find_keys(keys.values())
        kept_answers = {request: found_answers[key] for request, key in keys.items() if key in found_answers}
        if sure:
            return kept_answers
        return {request: replace(each, sure=False) for request, each in kept_answers.items()}

    def _find_keys(self, keys: Iterable[bytes]) -> dict[bytes, KeptAnswer]:
        """Look up cached answers by key.

        With --set forget=on those of a server are deleted, except for answers of this run.
        """
        found_answers = self._cache.find(keys)
        if self._identity is None or not self._ledger.spending.forget:
            return found_answers
        current = {key: each for key, each in found_answers.items() if key in self._replays.asked_now}
        if not self._ledger.spending.dry_run:
            self._cache.forget(found_answers.keys() - current.keys())
        return current


def is_served(model: Model) -> bool:
    """Whether a model, or a member of it, is behind a server."""
    if isinstance(model, ModelOfModels):
        return any(map(is_served, model.members))
    return hasattr(model, "identify")


def lasting_fingerprint(model: Model, cache: Cache) -> str | None:
    """Fingerprint that identifies a model in later runs too.

    None if a server does not say enough to tell its models apart.
    """
    if isinstance(model, ModelOfModels) and is_served(model):
        members = [lasting_fingerprint(member, cache) for member in model.members]
        return None if None in members else f"{model.fingerprint} of {members}"
    identity = server_identity(model, cache)
    if identity is None or identity.tells:
        return served_fingerprint(model, identity)
    return None


def served_fingerprint(model: Model, identity: "ServerIdentity | None") -> str:
    """Fingerprint of a model with its server's identity, if it has one."""
    if identity is None or not identity.text:
        return model.fingerprint
    return f"{model.fingerprint} served as {identity.text}"


def server_identity(model: Model, cache: Cache) -> "ServerIdentity | None":
    """Identity of a model's server, asked once in a run.

    None for a model on this machine. A dry run asks nobody, and takes the identity of the last time. A new identity is
    stored in the cache, and a changed one is noted for the user.
    """
    identify = getattr(model, "identify", None)
    if identify is None:
        return None
    from winokit.models.identity import ServerIdentity

    def ask() -> ServerIdentity:
        last = cache.last_identity(model.fingerprint)
        if cache.ledger.spending.dry_run:
            return ServerIdentity.recall(last)
        identity: ServerIdentity = identify()
        if not identity.confirmed:
            return replace(ServerIdentity.recall(last), confirmed=False, reached=identity.reached)
        if identity.text != last:
            cache.keep_identity(model.fingerprint, identity.text)
            if last:
                change = "the server names another model than the last time; what is kept of that one is not replayed"
                cache.ledger.replays.changes.append(f"{model.spec}: {change}")
        return identity

    return cache.ledger.replays.identity_of(model, ask)
