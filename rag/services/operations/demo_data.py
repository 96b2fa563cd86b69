"""Demo data for `make run`: two organisations, sources of every visibility, and the product's documentation in them."""

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import transaction

from accounts.models import User
from orgs.access.permissions import Visibility
from orgs.creation import add_member, create_organization
from orgs.models import Organization, Role, Team
from rag.models import DataSource, Document, EmbeddingModel, Grant, IngestionJob
from rag.models.content.documents import content_hash
from rag.parsing.parse_markdown import parse_markdown
from rag.services.ingestion import build_submissions
from rag.services.jobs.create_job import create_job
from rag.services.reembedding import second_model
from rag.types import Submission

DOCS = Path(settings.RAG_DEMO_FOLDER or settings.BASE_DIR / "docs")


@dataclass(frozen=True)
class DemoAccount:
    """A demo account. Its roles and teams are names in its organisation."""

    email: str
    name: str
    organization: str
    roles: tuple[str, ...] = ("member",)
    teams: tuple[str, ...] = ()
    is_staff: bool = False
    is_superuser: bool = False


ACCOUNTS = (
    DemoAccount("owner@acme.example", "Acme owner", "acme", roles=("owner",), teams=("support",), is_staff=True),
    DemoAccount("editor@acme.example", "Acme editor", "acme", roles=("editor",)),
    DemoAccount("member@acme.example", "Acme member", "acme", teams=("support",)),
    DemoAccount("member@globex.example", "Globex member", "globex"),
)
_ORGANIZATIONS = ("acme", "globex")
# Sees the page for operators, and may change everything that a superuser may.
OPERATOR = DemoAccount("operator@acme.example", "Operator", "acme", is_staff=True, is_superuser=True)


@dataclass(frozen=True)
class DemoSource:
    """A demo data source. According to its visibility it is granted to `role`, `team` or `user`."""

    organization: str
    slug: str
    name: str
    visibility: Visibility
    pages: tuple[str, ...]  # glob patterns of its documents, within docs/
    owner: str = "owner@acme.example"
    role: str = ""
    team: str = ""
    user: str = ""


SOURCES = (
    DemoSource("acme", "handbook", "User documentation", Visibility.PUBLIC, ("user/*.md", "contracts/*.md")),
    # Another organisation, whose members must not see acme's sources. A few pages are enough.
    DemoSource(
        "globex",
        "handbook",
        "User documentation",
        Visibility.PUBLIC,
        ("user/README.md", "user/ask-a-question.md", "user/search.md", "user/send-documents.md"),
        owner="member@globex.example",
    ),
    DemoSource("acme", "administration", "Admin documentation", Visibility.ROLE, ("admin/*.md",), role="owner"),
    DemoSource("acme", "operations", "Operations documentation", Visibility.TEAM, ("operations/*.md",), team="support"),
    DemoSource(
        "acme",
        "engineering",
        "Contributor documentation",
        Visibility.PRIVATE,
        ("contributor*.md", "contributor/*.md"),
        user="editor@acme.example",
    ),
    DemoSource(
        "acme",
        "architecture-notes",
        "Notes on the architecture",
        Visibility.PERSONAL,
        ("architecture.md",),
        owner="editor@acme.example",
    ),
)


def create_demo_data(*, password: str, with_operator: bool = False) -> None:
    """Create the accounts and sources that do not exist yet, and reset the password of existing demo accounts.

    Args:
        password: The password of all accounts.
        with_operator: Whether to create an operator, who is a superuser. As soon as there is an organisation that does
            not belong to the demo, the operator is not created, or cannot sign in any more.
    """
    with transaction.atomic():
        for organization in _ORGANIZATIONS:
            create_organization(name=organization.capitalize(), slug=organization)
        password_hash = _hash(password)
        for account in ACCOUNTS:
            _ensure_account(account, password_hash)
        if Organization.objects.exclude(slug__in=_ORGANIZATIONS).exists():
            User.objects.filter(email=OPERATOR.email).update(is_active=False)
        elif with_operator:
            _ensure_account(OPERATOR, password_hash)
        for source in SOURCES:
            _get_or_create_source(source)


def ingest_documentation(*, public: bool) -> list[IngestionJob]:
    """Ingest new and changed pages of the documentation.

    Args:
        public: Whether to ingest those in public sources, or those in the other ones.

    Returns:
        The jobs, at most one per data source.
    """
    sources = [source for source in SOURCES if (source.visibility == Visibility.PUBLIC) == public]
    jobs = [_ingest_pages(_get_or_create_source(source), source.pages) for source in sources]
    return [job for job in jobs if job]


def prepare_for_other_languages() -> None:
    """Have the public sources embedded with the multilingual model, so that the first question need not be English."""
    public = DataSource.objects.filter(
        deleted_at=None,
        organization__slug__in=_ORGANIZATIONS,
        slug__in=[source.slug for source in SOURCES if source.visibility == Visibility.PUBLIC],
    )
    second_model.request_vectors(list(public.values_list("pk", flat=True)))


def _hash(password: str) -> str:
    """Return a hash of the password: the one of the first account if there is one. Hashing takes half a second."""
    user = User.objects.filter(email=ACCOUNTS[0].email).first()
    return user.password if user and user.check_password(password) else make_password(password)


def _ensure_account(account: DemoAccount, password_hash: str) -> None:
    user = User.objects.filter(email=account.email).first()
    if user is None:
        flags = {"is_staff": account.is_staff, "is_superuser": account.is_superuser}
        user = User.objects.create(email=account.email, password=password_hash, name=account.name, **flags)
    elif user.password != password_hash:
        user.password = password_hash
        user.save(update_fields=["password"])
    organization = Organization.objects.get(slug=account.organization)
    add_member(user=user, organization=organization, roles=account.roles, teams=account.teams)


def _get_or_create_source(demo_source: DemoSource) -> DataSource:
    """Create the data source with its grant, unless it exists already."""
    organization = Organization.objects.get(slug=demo_source.organization)
    source, is_new = DataSource.objects.get_or_create(
        organization=organization,
        slug=demo_source.slug,
        deleted_at=None,
        defaults={
            "name": demo_source.name,
            "visibility": demo_source.visibility,
            "owner": User.objects.get(email=demo_source.owner),
            "embedding_model": EmbeddingModel.objects.default(),
        },
    )
    if is_new and (demo_source.role or demo_source.team or demo_source.user):
        Grant.objects.create(
            source=source,
            role=Role.objects.get(organization=organization, name=demo_source.role) if demo_source.role else None,
            team=Team.objects.get(organization=organization, name=demo_source.team) if demo_source.team else None,
            user=User.objects.get(email=demo_source.user) if demo_source.user else None,
            granted_by=source.owner,
        )
    return source


def _ingest_pages(source: DataSource, patterns: tuple[str, ...]) -> IngestionJob | None:
    """Submit the pages whose content differs from the source's documents.

    Returns:
        The job; None if no page differs, or if the source has no owner.
    """
    hashes = dict(Document.objects.live().filter(source=source).values_list("path", "content_hash"))
    pages = [_read_page(file) for pattern in patterns for file in sorted(DOCS.glob(pattern))]
    changed = [page for page in pages if hashes.get(page.path) != content_hash(page.text)]
    if not changed or source.owner is None:
        return None
    return create_job(
        source=source, submissions=changed, options=build_submissions.default_chunking_options(), actor=source.owner
    )


def _read_page(file: Path) -> Submission:
    """Return a page of the documentation as a document; its title is that of its front matter, or its first heading."""
    path = str(file.relative_to(DOCS.parent))
    text = file.read_text(encoding="utf-8")
    parsed = parse_markdown(text)
    title = parsed.title or next((heading.title for heading in parsed.headings), file.name)
    return Submission(path=path, title=title, text=text, content_type="text/markdown", tags=("documentation",))
