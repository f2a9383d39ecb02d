from tests.mechanisms.chances import chances

__all__ = ["chances"]
