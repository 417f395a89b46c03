"""Options that are declared in groups reach a command as one object, and `--help` shows their groups."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest
import typer
from typer.testing import CliRunner

from lockstep_bench.run.grouped import grouped


@dataclass(frozen=True, kw_only=True)
class Food:
    title: ClassVar[str] = "What to eat"

    dish: Annotated[str, typer.Option(help="Its name.")] = "soup"
    many: Annotated[int | None, typer.Option(min=1, help="Portions.")] = None


@dataclass(frozen=True, kw_only=True)
class Place:
    title: ClassVar[str] = "Where"

    outside: Annotated[bool, typer.Option("--outside", help="In the garden.")] = False


@dataclass(frozen=True, kw_only=True)
class Meal:
    food: Food = Food()
    place: Place = Place()


@pytest.fixture
def called():
    """`called(*words)`: what a command gets for these words, and its output."""
    app, meals = typer.Typer(), []

    @app.command()
    @grouped(Meal)
    def main(meal: Meal) -> None:
        """Eat."""
        meals.append(meal)

    def call(*words: str) -> tuple[list[Meal], str]:
        done = CliRunner().invoke(app, list(words), env={"COLUMNS": "100"})
        return meals, done.output

    return call


def test_command_receives_one_object_with_all_option_groups(called):
    (meal,), _ = called("--dish", "bread", "--many", "2", "--outside")
    assert meal == Meal(food=Food(dish="bread", many=2), place=Place(outside=True))


def test_option_defaults_come_from_their_groups(called):
    assert called()[0] == [Meal()]


def test_option_bounds_are_enforced(called):
    meals, said = called("--many", "0")
    assert (meals, "Error" in said) == ([], True)


def test_help_lists_options_by_group(called):
    _, said = called("--help")
    assert "Eat." in said
    assert said.index("What to eat") < said.index("--dish") < said.index("Where") < said.index("--outside")
