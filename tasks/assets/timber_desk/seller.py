"""A seller's side of bargaining over one lot. Prices are whole numbers."""


def begun(lot):
    """Return the state at first: round, ask, the buyer's last offer, how much patience is left, and whether it is the last ask."""
    return (1, lot["ask"], 0, lot["patience"], False)


def next_ask(lot, state, offer):
    """Return what the seller would ask next, having heard an offer."""
    number, ask, before, _, _ = state
    # How near an offer is to the ask, from 0 for one that just doesn't offend to 1000.
    near = (offer * 1000 // ask - lot["insult"] * 10) * 100 // (100 - lot["insult"])
    heard = lot["base"] * 1000 + (100 - lot["base"]) * max(0, min(1000, near))
    given = (ask - lot["least"]) * lot["yields"][min(number, len(lot["yields"])) - 1] * heard // 10_000_000
    if before and offer > before:
        given += (offer - before) * lot["mirrors"] // 100
    return max(lot["least"], ask - given)


def answer(lot, state, offer):
    """Return what a seller says to an offer (`accepted`, `ended`, `ask` or `last ask`), and the state after it."""
    number, ask, before, patience, _ = state
    then = next_ask(lot, state, offer)
    if offer >= then:
        return "accepted", (number, offer, offer, patience, True)
    offended = offer * 100 < ask * lot["insult"]
    offended += bool(before) and (offer - before) * 1000 < ask * lot["raise"]
    if offended:
        patience, then = patience - offended, ask
    if patience < 0:
        return "ended", (number, ask, offer, patience, True)
    number += 1
    last = number > lot["rounds"]
    return "last ask" if last else "ask", (number, then, offer, patience, last)
