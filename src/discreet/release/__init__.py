"""Release: the one way from private data to an answer, and the answer.

`plan` holds the value that a producer of releases hands over; `gate` charges, computes, adds the noise, settles and
answers, for SQL, for a steward's own number and for a local node alike. `answer` is a user's answer,
`answer_archive` its copy in the ledger, `answer_file` its file on a disk.
"""
