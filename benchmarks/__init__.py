"""Speed and memory, ours beside a straightforward baseline in one run."""
