"""How grading looks in a terminal: values in, rich renderables out. Nothing here prints, reads or decides."""
