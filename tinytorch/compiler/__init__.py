"""What the compilation lesson does not teach: the text of programs and loops, the C compiler, and
what a compiled function checks. `tinytorch.support.tracing` records the programs."""
