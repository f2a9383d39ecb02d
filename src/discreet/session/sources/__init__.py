"""The sources and files of a session: types of CSV columns, the place of the ledger, files never to be replaced."""
