"""The measured claims of the project. Ratios within one run: absolute times depend on the machine."""
