"""Six ways for a fine-tuned model to read a problem, to be trained on it and to decide it. One short file each."""

from winokit.methods.formalizations import (
    mc_mlm,
    mc_sent,
    mc_sent_no_pair_loss,
    mc_sent_no_softmax,
    p_sent,
    p_span,
)
from winokit.methods.formalizations.base import FORMALIZATIONS, STYLES, Definition, Formalization, defaults, register
from winokit.methods.formalizations.batch import Batch, collate
from winokit.methods.formalizations.cases import Case, cases, training_cases
from winokit.methods.formalizations.inputs import Encoded, InputReader, encode
from winokit.methods.formalizations.network import Network, load_network, open_network, save_network

__all__ = [
    "FORMALIZATIONS",
    "STYLES",
    "Batch",
    "Case",
    "Definition",
    "Encoded",
    "Formalization",
    "InputReader",
    "Network",
    "cases",
    "collate",
    "defaults",
    "encode",
    "load_network",
    "open_network",
    "register",
    "save_network",
    "training_cases",
]
