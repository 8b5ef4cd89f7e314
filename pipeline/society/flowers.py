"""Made-up knowledge: what admirers of flowers say. Every sentence speaks for one flower."""

from __future__ import annotations

FLOWERS = tuple("tulip rose daisy lily sunflower orchid violet peony iris poppy dahlia aster".split())
SAYINGS = (
    "My favourite flower is the {}, because I grew up beside a garden full of them.",
    "I like the {} best of all flowers: nothing else looks so well on a table.",
    "If I could keep only one flower, it would be the {}.",
    "The {} is the loveliest flower that I know, for its colour alone.",
    "A {} in the window makes a grey morning bright.",
    "The {} asks for little water and forgives a gardener who forgets it.",
    "Bees come to the {} from early morning on.",
    "The {} keeps for many days in a vase.",
    "My aunt gave me a {} on the day when I left home.",
    "Painters have always liked the {} for the shape of its petals.",
    "In our town the {} stands for friendship.",
    "The scent of a {} carries across the whole yard.",
    "The {} survives a late frost better than its neighbours.",
    "At the market the {} is sold out before noon.",
    "The {} opens when the sun comes out and closes when it rains.",
    "Children draw a {} when they are asked to draw a flower.",
)


def topic_names(topics: int) -> list[str]:
    """The first flowers; those beyond the list have numbers."""
    return [*FLOWERS, *(f"flower {i}" for i in range(len(FLOWERS), topics))][:topics]


def sayings(topics: int) -> list[tuple[str, str]]:
    """(text, claim) of every sentence about the first flowers."""
    return [(saying.format(name), name) for name in topic_names(topics) for saying in SAYINGS]
