from . import golden_question_admin, source_admin, syncs

__all__ = ["golden_question_admin", "source_admin", "syncs"]
