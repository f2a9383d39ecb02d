"""Several statements of one text, which are one workload: answered, written into files, or looked at."""
