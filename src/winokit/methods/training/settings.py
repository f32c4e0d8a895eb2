"""Training settings: everything except data and model.

The defaults are those the WinoGrande authors give for RoBERTa-large (8 epochs at 1e-5, 16 problems a batch, warm-up
over a tenth of the steps, no weight decay, gradients clipped at 1). Liu et al. search over 1e-5 to 3e-5, 8 to 64
problems and 10 to 40 epochs, with a weight decay of 0.001 on every weight. Small models want a higher rate.
"""

from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Annotated, Any, Literal

from winokit.errors import MissingExtra
from winokit.settings import Help, Settings

FORMALIZATION_HELP = (
    "mc-mlm, mc-sent, mc-sent-no-softmax, mc-sent-no-pair-loss, p-sent or p-span; mc-lm for causal models and "
    "encoder-decoders. With switches after a question mark: mc-mlm?loss=margin, mc-sent?style=winogrande"
)
Keep = Literal["best", "last"]
Precision = Literal["auto", "float32", "bfloat16"]

Trainable = Annotated[str, Help("builtin, or hf:NAME_OR_DIR: any encoder, or a trained folder.", "SPEC")]
Device = Annotated[str | None, Help("cpu, cuda, cuda:1 or mps. Default: the best available.")]
VariantName = Annotated[
    str | None, Help("no-cands, part-sent, local-context or special-word; part-sent?style=code.", "NAME")
]
TrainOn = Annotated[
    Literal["variant", "original"],
    Help("With --variant: train on the variant, or on the problems as they are. The variant is tested.", was="arm"),
]
DropOverlap = Annotated[
    bool, Help("Leave out problems that give held-out ones away (same, near or twin) instead of refusing.")
]
Save = Annotated[bool, Help("Keep the weights of every run.", section="training")]
"""Parameters that the verbs which train have in common, with their help."""


@dataclass(frozen=True)
class TrainSettings(Settings):
    """Settings of one training run.

    The fields, in their order, are part of the identity of a run: see `identity`.
    """

    formalization: Annotated[str, Help(FORMALIZATION_HELP, "NAME")] = "mc-mlm"
    learning_rate: Annotated[float, Help("The peak learning rate.", above=0)] = 1e-5
    epochs: Annotated[int, Help("Passes over the data.", least=1)] = 8
    steps: Annotated[int | None, Help("Maximum number of steps.", least=1)] = None
    """The learning rate falls to zero over these."""
    batch_size: Annotated[int, Help("Problems per batch.", least=1)] = 16
    """Single options, for formalizations that train pointwise."""
    tokens: Annotated[
        int | None, Help("Tokens per batch, instead of a number of problems.", least=1, section="training")
    ] = None
    """Padding is counted."""
    accumulate: Annotated[int, Help("Batches per step.", least=1, section="training")] = 1
    warmup: Annotated[float, Help("Share of the steps used for warm-up.", least=0, below=1, section="training")] = 0.1
    weight_decay: Annotated[float, Help("Weight decay, on every weight.", least=0, section="training")] = 0.0
    clip: Annotated[float, Help("Maximum gradient norm; 0 for no limit.", least=0, section="training")] = 1.0
    seed: Annotated[int, Help("Seed for head, dropout, order of batches and holdout.", least=0, below=2**63)] = 0
    """torch takes none that is higher."""
    evaluate_every: Annotated[
        int | None,
        Help("Steps between evaluations on the dev set. Default: once per epoch.", least=1, section="training"),
    ] = None
    patience: Annotated[
        int | None, Help("Stop after this many evaluations without improvement.", least=1, section="training")
    ] = None
    keep: Annotated[Keep, Help("Which weights to keep: best on the dev set, or last.", noun="choice of weights")] = (
        "best"
    )
    precision: Annotated[Precision, Help("auto (bfloat16 on a GPU), float32 or bfloat16.", section="training")] = "auto"
    """Of the encoder in training; `auto` is bfloat16 on a GPU that has it, else float32."""
    checkpoint_every: Annotated[
        int | None, Help("Steps between checkpoints; 0: none. Default: every two minutes.", least=0, section="training")
    ] = None

    def identity(self) -> dict[str, Any]:
        """Return the settings that determine the weights.

        The interval between checkpoints is not among them.
        """
        return {name: value for name, value in asdict(self).items() if name != "checkpoint_every"}


def need_training(verb: str, *more: str) -> None:
    """Raise MissingExtra unless the packages that a command needs for training are installed.

    These are torch, transformers, and the packages named in `more`. `verb` is the command's name.
    """
    if not all(find_spec(name) for name in ("torch", "transformers", *more)):
        raise MissingExtra(f"winokit {verb}", "train")
