"""Start-up: what a user waits for between typing ``python`` and the first finished kernel.

The scripts here run in a fresh process per timing; ``clock`` starts them and holds the watch.
"""
