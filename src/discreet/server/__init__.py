"""The service: HTTP and pages over sessions. It holds no rule of privacy: sessions and the one gate below them do."""
