"""Folders, copies of trees, workspaces and archives."""
