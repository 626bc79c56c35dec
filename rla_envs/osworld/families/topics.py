"""What generated documents are about: file names, phrases and words, apart for the two splits."""

from __future__ import annotations

from dataclasses import dataclass

SPLITS = ("train", "valid")
"""Names of the splits; a task of one is never about a topic of the other."""


@dataclass(frozen=True)
class Topic:
    """Something that documents are about.

    Attributes:
        stem: Name of a file about it, without its ending.
        about: The same as a phrase.
        things: Words for rows, lines and titles; no two alike.
    """

    stem: str
    about: str
    things: tuple[str, ...]


def _topic(line: str) -> Topic:
    stem, about, things = line.split("|")
    return Topic(stem, about, tuple(things.split()))


_TRAIN = """\
budget|the household budget|Rent Food Fuel Power Phone Books Gifts Water
harvest|the apple harvest|Gala Fuji Braeburn Elstar Jonagold Pippin Rubens Topaz
library|the village library|Novels Poetry Atlases Journals Comics Maps Plays Essays
workshop|the bicycle workshop|Brakes Tyres Chains Lamps Pedals Saddles Spokes Bells
bakery|the orders of the bakery|Rolls Bagels Croissants Muffins Tarts Scones Loaves Buns
garden|the school garden|Carrots Leeks Beans Onions Radishes Pumpkins Peas Turnips
travel|the trip to the coast|Train Ferry Hotel Museum Dinner Bicycle Guide Parking
orchestra|the town orchestra|Violins Cellos Flutes Horns Oboes Harps Trumpets Drums
shelter|the animal shelter|Dogs Cats Rabbits Parrots Ferrets Hamsters Ponies Goats
weather|the weather station|Rain Sunshine Frost Wind Fog Snow Hail Storms
fishery|the fishing harbour|Cod Herring Mackerel Sole Plaice Haddock Turbot Squid
painting|the painting of the hall|Primer Brushes Rollers Ladders Tape Varnish Buckets Sheets
chess|the chess club|Boards Clocks Trophies Badges Tables Lessons Snacks Posters
canteen|the menu of the canteen|Soup Salad Pasta Curry Stew Pudding Fruit Bread
clinic|the village clinic|Bandages Gloves Masks Syringes Plasters Creams Tablets Splints
energy|the energy report|Heating Lighting Cooling Pumps Ovens Lifts Servers Fans
"""

_VALID = """\
museum|the railway museum|Engines Wagons Signals Lanterns Tickets Uniforms Whistles Models
brewery|the small brewery|Hops Malt Yeast Bottles Kegs Labels Crates Filters
theatre|the summer theatre|Costumes Curtains Props Wigs Scripts Scenery Programmes Stools
hiking|the hiking trail|Bridges Benches Signs Shelters Gates Steps Fences Viewpoints
pottery|the pottery course|Clay Glazes Kilns Wheels Aprons Sponges Tools Shelves
cinema|the open-air cinema|Screens Projectors Chairs Blankets Popcorn Drinks Cables Speakers
"""

TOPICS = {
    "train": tuple(_topic(line) for line in _TRAIN.splitlines()),
    "valid": tuple(_topic(line) for line in _VALID.splitlines()),
}
"""The topics of each split."""

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun")
PLACES = ("North", "South", "East", "West", "Centre", "Harbour")
PEOPLE = ("Ada", "Bruno", "Clara", "David", "Edith", "Felix", "Greta", "Hugo")
