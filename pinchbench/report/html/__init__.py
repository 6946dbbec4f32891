"""Reports as web pages: one file each, which opens anywhere and asks no network."""

import logging

# what it has to say of fonts and folders, at its import already, is no news of a run
logging.getLogger("matplotlib").setLevel(logging.ERROR)
