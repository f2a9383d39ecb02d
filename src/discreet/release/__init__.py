"""Release: the one way from private data to an answer, and the answer.

`plan` says what a producer of releases hands over, `gate` charges, computes, adds the noise, settles and answers; it
does so for SQL, for a steward's own number and for a local node alike. `answer` is what a user gets, `kept` what the
ledger keeps of it, `answer_file` what is written to a disk.
"""
