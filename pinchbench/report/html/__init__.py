"""Reports as web pages: one file each, viewable in any browser without a network."""

import logging

# its messages about fonts and folders, even at import, do not concern a run
logging.getLogger("matplotlib").setLevel(logging.ERROR)
