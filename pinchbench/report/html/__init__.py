"""Reports as web pages: one file each, viewable in any browser without a network."""
