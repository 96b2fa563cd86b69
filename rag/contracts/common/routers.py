"""The router of the contracts' view sets."""

from rest_framework.routers import Route, SimpleRouter


class ContractRouter(SimpleRouter):
    """DRF's router for paths that answer with and without a trailing slash.

    DELETE on a collection calls `destroy_by_path`, for the one view set that has it (documents, `?path=`).
    """

    def __init__(self) -> None:
        super().__init__(trailing_slash=False)
        self.trailing_slash = "/?"

    routes = [
        route._replace(mapping={**route.mapping, "delete": "destroy_by_path"})
        if isinstance(route, Route) and not route.detail
        else route
        for route in SimpleRouter.routes
    ]
