"""Fine-tuning under a formalization: data and a model in, a folder out."""

from winokit.training.arms import ARMS, VARIANTS, Arm, make_variant
from winokit.training.data import Data, hold_out
from winokit.training.finetune import Outcome, finetune
from winokit.training.settings import Settings
from winokit.training.symptoms import Diverged

__all__ = [
    "ARMS",
    "VARIANTS",
    "Arm",
    "Data",
    "Diverged",
    "Outcome",
    "Settings",
    "finetune",
    "hold_out",
    "make_variant",
]
