"""Measure whether intervals cover, and tests reject, as often as docs/evidence/statistics.md says.

    python benchmarks/statistics.py [--times 2000] [--only coverage gaps …] [--quick]

The simulations are in simulations.py. This file has the name of a module of Python's own, which other scripts of the
folder import: for them it hands that one on.
"""

import importlib.machinery
import importlib.util
import sys
import sysconfig

if __name__ == "__main__":
    from quiet import watched
    from simulations import main

    with watched():
        main()
else:
    spec = importlib.machinery.PathFinder.find_spec("statistics", [sysconfig.get_path("stdlib")])
    assert spec is not None
    assert spec.loader is not None
    sys.modules["statistics"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["statistics"])
