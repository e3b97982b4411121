"""dshloop: the command line for DeepSeek Harness profiles, loops, sessions and memory."""

__version__ = "0.1.0"
