"""Sign-in through an OpenID provider: the organisation's own accounts, for people whom the steward has named."""
