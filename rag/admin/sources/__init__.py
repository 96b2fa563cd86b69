from . import golden_question_admin, source_admin

__all__ = ["golden_question_admin", "source_admin"]
