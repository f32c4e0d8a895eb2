"""Settings of a Ray cluster, and a function to join one."""

import logging
import os
import socket
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from winokit.errors import BadInput, MissingExtra, UnusedSetting
from winokit.settings import Help, Settings

Engine = Annotated[Literal["local", "ray"], Help("local, or ray for a cluster.")]
Address = Annotated[str | None, Help("The Ray cluster's address. Default: this machine.", section="cluster")]


@dataclass(frozen=True)
class ClusterSettings(Settings):
    """Machine or cluster for models, and the resources of each copy."""

    engine: Engine = "local"
    address: Address = None
    cores_each: Annotated[
        int | None,
        Help(
            "On Ray: cores per copy of a model. Default: all of a machine, or 1 with GPUs.", least=1, section="cluster"
        ),
    ] = None
    gpus_each: Annotated[
        int | None, Help("On Ray: GPUs per copy. Default: 1 if there are any.", least=0, section="cluster")
    ] = None
    memory_each: Annotated[
        float | None,
        Help(
            "On Ray: GB of memory per copy without a GPU. Default: twice the size of its files.",
            "GB",
            above=0,
            section="cluster",
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in vars(self).items():
            if self.engine == "local" and name != "engine" and value is not None:
                raise UnusedSetting(name, "a setting of --engine ray")


def started(address: str | None, need: str) -> Any:
    """Start Ray on this machine, or connect to a cluster.

    Returns the module `ray`. Without an address it is $RAY_ADDRESS, else this machine. If this process is connected
    already it stays so, whatever the address. `need` says what Ray is for, in the error if it is not installed. Raises
    BadInput if no cluster answers.
    """
    # No word to its makers, and none about GPUs that a worker without one will not see.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise MissingExtra(need, "ray") from None
    if not ray.is_initialized():
        # Not whichever cluster somebody started here last, which is what Ray does unless told.
        address = address or os.environ.get("RAY_ADDRESS") or "local"
        dashboard = False if address == "local" else None
        try:
            if ":" in address:  # nobody there: Ray would knock for minutes, and loudly
                host, _, port = address.removeprefix("ray://").rpartition(":")
                socket.create_connection((host, int(port)), timeout=10).close()
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, include_dashboard=dashboard)
        except (OSError, ValueError, RuntimeError) as error:
            raise BadInput(f"no Ray cluster answers at {address} ({error})") from error
    return ray
