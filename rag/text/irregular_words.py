"""Words whose forms have no common stem: "lost" and "lose", "backup" and "back up", "Austritt" and "austreten"."""

import re

# Each line is the basic form, then the others. Forms that are frequent words of their own are left out: "saw", "found",
# "left", "ground".
_FORMS = """
become became
begin began begun
bend bent
bite bit bitten
blow blew blown
break broke broken
bring brought
build built
burn burnt
buy bought
catch caught
child children
choose chose chosen
come came
criterion criteria
deal dealt
draw drew drawn
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
fly flew flown flies
foot feet
forget forgot forgotten
freeze froze frozen
get got gotten
give gave given
go went gone
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
know knew known
lead led
learn learnt
lend lent
lose lost
man men
mean meant
meet met
mouse mice
pay paid
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
seek sought
sell sold
send sent
shake shook shaken
shine shone
shoot shot
sing sang sung
sink sank sunk
sit sat
sleep slept
speak spoke spoken
spend spent
stand stood
steal stole stolen
stick stuck
strike struck
swear swore sworn
swim swam swum
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
tooth teeth
understand understood
wake woke woken
wear wore worn
win won
woman women
write wrote written
"""
# Verbs, and the particles that they are written together with as a noun: "the backup", but "to back up". The particle
# is a function word, so the verb is what both have in common.
_SEPARABLE = """
back up
check in out
clean up
log in on off out
look up
roll back out
set up
shut down
sign in on off out up
start up
"""
_BASIC_FORMS = {form: basic for basic, *forms in map(str.split, _FORMS.strip().splitlines()) for form in forms} | {
    f"{verb}{particle}{plural}": verb
    for verb, *particles in map(str.split, _SEPARABLE.strip().splitlines())
    for particle in particles
    for plural in ("", "s")
}
# German nouns of verbs that change their vowel, behind a prefix: "Austritt" belongs to "austreten".
_GERMAN_NOUNS = {
    "bruch": "brechen",
    "fahrt": "fahren",
    "flug": "fliegen",
    "gabe": "geben",
    "gang": "gehen",
    "griff": "greifen",
    "nahme": "nehmen",
    "schluss": "schließen",
    "schnitt": "schneiden",
    "spruch": "sprechen",
    "tritt": "treten",
    "wurf": "werfen",
    "zug": "ziehen",
}
_GERMAN_NOUN = re.compile(
    r"(?P<prefix>(?:ab|an|auf|aus|be|bei|ein|ent|her|hin|mit|nach|rück|teil|über|um|unter|ver|vor|wider|zu|zurück){1,2})"
    rf"(?P<noun>{'|'.join(_GERMAN_NOUNS)})(?:e?[ns]|e)?"
)


def german_basic_form(word: str) -> str:
    """Return the verb of a German noun in lower case that has another vowel; the word itself if it is none."""
    match = _GERMAN_NOUN.fullmatch(word)
    return f"{match['prefix']}{_GERMAN_NOUNS[match['noun']]}" if match else word


def basic_form(word: str) -> str:
    """Return the basic form of an English word in lower case; the word itself if its forms are regular."""
    return _BASIC_FORMS.get(word, word)
