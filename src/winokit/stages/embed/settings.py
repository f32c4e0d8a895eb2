"""Settings of an embedding, and of the fine-tuning that may come first."""

from dataclasses import dataclass, replace
from typing import Annotated

from winokit.errors import BadInput, UnusedSetting
from winokit.methods.cluster import ClusterSettings
from winokit.methods.scoring.cache import CacheFile
from winokit.methods.scoring.features import FeatureKind, Pooling
from winokit.methods.training.settings import Device, TrainSettings
from winokit.settings import Help, Settings, Stored, Without

DEFAULT_TRAINING = TrainSettings("mc-sent?style=winogrande")
UNUSED = (
    "a setting of --finetune N; a model that is embedded as it is takes its device after a question mark, "
    "hf:NAME?device=cuda"
)
UNOFFERED = (
    *("tokens", "accumulate", "warmup", "weight_decay", "clip"),
    *("evaluate_every", "patience", "keep", "checkpoint_every"),
)
"""Settings of a training run that embedding does not offer."""


@dataclass(frozen=True)
class Finetuning(Settings):
    """Settings of the fine-tuning of a model before it embeds problems."""

    finetune: Annotated[
        int | None,
        Help(
            "Fine-tune the model first on so many problems (the paper: 6000), five in six to train on and the "
            "others to choose on, twins together; they are not embedded, and debias leaves them out.",
            metavar="N",
            least=6,
        ),
    ] = None
    formalization: Annotated[
        str, Help("With --finetune: the formalization for training and embedding.", "NAME", section="training")
    ] = DEFAULT_TRAINING.formalization
    steps: Annotated[int | None, Help("With --finetune: maximum number of steps.", least=1, section="training")] = None
    seed: Annotated[
        int, Help("With --finetune: seed for the held-out problems, head and batches.", least=0, section="training")
    ] = 0
    settings: Annotated[TrainSettings, Without("formalization", "steps", "seed", *UNOFFERED), Stored("training")] = (
        DEFAULT_TRAINING
    )
    device: Annotated[Device, Help("With --finetune: cpu, cuda, cuda:1 or mps.", section="training")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.finetune is not None:
            return
        for name, value in {**self.training.identity(), "device": self.device}.items():
            if value != getattr(DEFAULT_TRAINING, name, None):
                raise UnusedSetting(name, UNUSED)

    @property
    def training(self) -> TrainSettings:
        """The settings of the training run."""
        return replace(self.settings, formalization=self.formalization, steps=self.steps, seed=self.seed)


@dataclass(frozen=True)
class EmbedDesign(Settings):
    """Settings of the vectors, the fine-tuning, and the machine that embeds."""

    features: Annotated[
        FeatureKind, Help("concat (both candidates), difference or single (the blank).", noun="kind of features")
    ] = "concat"
    pooling: Annotated[Pooling, Help("first token, mean over tokens, or span (the candidate's).")] = "first"
    finetuning: Finetuning = Finetuning()
    cluster: ClusterSettings = ClusterSettings()
    cache: CacheFile = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.finetuning.finetune is None:
            return
        if self.cluster.engine != "local":
            engine = self.cluster.engine
            raise BadInput(f"--engine {engine}: a model is fine-tuned on this machine; leave one of them out")
        if self.cache is not None:
            raise UnusedSetting("cache", "for models that stay the same, and this one is fine-tuned")
