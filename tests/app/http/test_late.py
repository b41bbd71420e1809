"""Routes are built when they are first used."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import FastAPIError
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from app.http.late import LateModel, LateRoute, build, complete
from app.main import FIRST, ROUTERS


class Pet(LateModel):
    name: str
    age: int = 0


def late(**options: Any) -> LateRoute:
    router = APIRouter(route_class=LateRoute)

    @router.post("/pets/{number:int}", status_code=201, operation_id="add", **options)
    async def add(number: int, pet: Pet, loud: bool = False) -> Pet:
        return Pet(name=pet.name.upper() if loud else pet.name, age=number)

    (route,) = router.routes
    assert isinstance(route, LateRoute)
    return route


def served(route: APIRoute) -> TestClient:
    app = FastAPI()
    app.router.routes.append(route)
    return TestClient(app)


def test_it_is_built_by_its_first_request_and_answers_as_one_that_was_built_before() -> None:
    route = late()
    client = served(route)
    assert client.get("/pets/3").status_code == 405
    assert client.post("/pets/three", json={}).status_code == 404
    assert "dependant" not in vars(route), "a path that is compared builds nothing"
    made = client.post("/pets/3?loud=1", json={"name": "ada"})
    assert (made.status_code, made.json()) == (201, {"name": "ADA", "age": 3})
    assert client.post("/pets/3", json={}).status_code == 422
    usual = APIRoute(route.path, route.endpoint, methods=["POST"], status_code=201)
    assert {*vars(usual)} <= {*vars(route)}


def test_threads_that_use_it_first_find_it_whole() -> None:
    route, together, found = late(), Barrier(8), []

    def use() -> None:
        together.wait()
        found.append((route.dependant, route.app, route.body_field))

    threads = [Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(each) for parts in found for each in parts}) == 3


def test_what_it_does_not_have_is_no_attribute() -> None:
    route = late()
    with pytest.raises(AttributeError):
        _ = route.nothing
    assert getattr(LateRoute.__new__(LateRoute), "app", None) is None


def test_a_wrong_parameter_is_an_error_when_it_is_built() -> None:
    route = late(response_model=Barrier)
    for _ in range(2):
        with pytest.raises(FastAPIError):
            route.build()


def test_what_a_route_takes_and_returns_can_be_built_before_its_first_request() -> None:
    class Owner(LateModel):
        pets: list[Pet] | None = None

    fresh = [late(response_model=Owner), LateRoute("/other", late().endpoint)]
    complete(fresh, ["add"])
    assert [vars(route)["_is_built"] for route in fresh] == [True, False]
    assert Owner.__pydantic_complete__
    assert Pet.__pydantic_complete__
    build(fresh)
    assert vars(fresh[1])["_is_built"]


def test_operations_of_the_first_job_are_there() -> None:
    routes = [route for router in ROUTERS for route in router.routes]
    assert {*FIRST} <= {route.operation_id for route in routes if isinstance(route, LateRoute)}
