"""The sets of a training run, loaded as they are named.

One to train on, one to choose on, and some to test on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from winokit.data.loading import AsWritten, DataLike, Loading, check_part
from winokit.errors import BadInput
from winokit.methods.training.settings import DropOverlap, TrainOn, VariantName
from winokit.problem import Dataset
from winokit.progress import tell
from winokit.settings import Help, Settings

if TYPE_CHECKING:
    from winokit.methods.training.data import TrainingData, VariantArm


@dataclass(frozen=True)
class Sets(Settings):
    """The datasets and the variant for training and testing.

    A command with other words for `dev` or `test` declares these fields again.
    """

    dev: Annotated[str | Path | Dataset | None, Help("Choose on this.", "DATA")] = None
    holdout: Annotated[
        int | None, Help("Hold N problems of DATA out as the dev set, twins together.", "N", least=1)
    ] = None
    test: Annotated[Sequence[str | Path | Dataset], Help("Test on this when done; repeatable.", "DATA")] = ()
    variant: VariantName = None
    train_on: TrainOn = "variant"
    drop_overlap: DropOverlap = False
    limit: Annotated[int | None, Help("Train on the first N problems only.", "N", least=1)] = None
    loading: AsWritten = Loading()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dev is not None and self.holdout is not None:
            raise BadInput("--dev and --holdout: one dev set is enough, choose one of the two")
        if self.variant is None and self.train_on != "variant":
            raise BadInput(f"--train-on {self.train_on}: which variant is tested? (--variant)")
        if self.variant is not None:
            _ = self.variant_arm  # refuses a variant that there is not

    @property
    def variant_arm(self) -> "VariantArm":
        """The variants on which a model is trained and tested."""
        from winokit.methods.training.data import VariantArm

        return VariantArm.of(self.variant, self.train_on)

    def loaded(self, data: DataLike, *, seed: int = 0) -> "TrainingData":
        """Load all datasets, and check that none gives away answers of another.

        With `drop_overlap`, training problems that give away dev or test problems are left out, and so are dev
        problems that give away test problems. Otherwise BadInput is raised. Notes are shown to the user.

        Parameters
        ----------
        data
            The training data, from which the holdout is taken.
        seed
            Seed of the draw of the holdout.
        """
        checked = self.unchecked(data, seed=seed).checked(drop_overlap=self.drop_overlap)
        tell(checked.notes)
        return checked

    def unchecked(self, data: DataLike, *, seed: int = 0) -> "TrainingData":
        """Load all datasets without a check for overlap.

        Raises BadInput for a public dataset of several parts if none is named.

        Parameters
        ----------
        data
            The training data, from which the holdout is taken.
        seed
            Seed of the draw of the holdout.
        """
        from winokit.methods.training.data import TrainingData, hold_out

        check_part(data)
        dev = None if self.dev is None else self.loading.one(self.dev)
        train = self.loading.one(data)
        if self.holdout is not None:
            train, dev = hold_out(train, self.holdout, seed)
        tests = tuple(self.loading.one(test) for test in self.test)
        return TrainingData(train[: self.limit], dev, tests, self.variant_arm)
