"""Groups the parts of a passage that people read together: a paragraph with its list, a step with its command."""

from collections.abc import Callable, Collection, Sequence

from .split_into_parts import Part

# The indexes of the parts of a section that are not headings, in groups.
Section = list[list[int]]


def find_sections(
    parts: Sequence[Part], headings: Collection[int], leads_to: Callable[[int, int], bool]
) -> list[Section]:
    """Return the sections of a passage. The first one has what is above the first heading.

    Args:
        parts: The parts, in reading order.
        headings: The indexes of the headings.
        leads_to: Whether a block, by the index of its last part, introduces the next one, by that of its first part.
    """
    sections: list[Section] = [[]]
    for index, part in enumerate(parts):
        groups = sections[-1]
        if index in headings:
            sections.append([])
        elif groups and (parts[groups[-1][-1]].block == part.block or leads_to(groups[-1][-1], index)):
            groups[-1].append(index)
        else:
            groups.append([index])
    return sections
