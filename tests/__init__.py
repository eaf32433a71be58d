"""The tests; a package so that ``tests.support`` is found by its name, in the processes that tests begin too."""
