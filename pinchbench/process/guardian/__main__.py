"""The entry of the guardian's process; see the package's docstring."""

from __future__ import annotations

import os
import sys

# After the standard library: an isolated Python has nothing else on its path.
sys.path.append(os.path.abspath(f"{__file__}/../../../.."))  # noqa: PTH100 - pathlib is slow to import

from pinchbench.process.guardian.guard import main

if __name__ == "__main__":
    main()
