"""One module per lesson, each made by `tito export`."""
