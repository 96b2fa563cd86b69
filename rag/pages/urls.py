"""The URLs of the pages for every account."""

from django.urls import path

from . import ask, compare, documents, history, trace
from .account import api_keys, overview, password

urlpatterns = [
    path("", ask.ask, name="ask"),
    path("conversations/<uuid:conversation_id>", ask.ask, name="conversation"),
    path("conversations/<uuid:conversation_id>/rename", history.rename, name="rename_conversation"),
    path("conversations/<uuid:conversation_id>/delete", history.delete, name="delete_conversation"),
    path("compare", compare.show_comparison, name="compare"),
    path("trace", trace.show_trace, name="trace"),
    path("history", history.list_history, name="history"),
    path("account", overview.show_account, name="account"),
    path("account/password", password.change_password, name="change_password"),
    path("account/sign-out-everywhere", overview.sign_out_everywhere, name="sign_out_everywhere"),
    path("account/keys/new", api_keys.create_key, name="create_key"),
    path("account/keys/<uuid:key_id>/revoke", api_keys.revoke_key, name="revoke_key"),
    path("answers/<uuid:message_id>/rating", history.rate, name="rate_answer"),
    path("documents/<uuid:document_id>", documents.show_document, name="document"),
    path("documents/<uuid:document_id>/page-picture", documents.show_page_picture, name="page_picture"),
]
