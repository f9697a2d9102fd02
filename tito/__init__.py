"""tito, the command line of TinyTorch."""
