"""Where problems, features and filters meet: what is removed, by which method, and what that changed."""

from winokit.filtering.arms import METHODS, Arm, Choices, Watch
from winokit.filtering.assessment import Assessment
from winokit.filtering.features import Features, embedded, read_features
from winokit.filtering.filtering import Filtering, check_problems, filter_problems
from winokit.filtering.save import save

__all__ = [
    "METHODS",
    "Arm",
    "Assessment",
    "Choices",
    "Features",
    "Filtering",
    "Watch",
    "check_problems",
    "embedded",
    "filter_problems",
    "read_features",
    "save",
]
