"""The database of a shop as an SQL dump: merged and test accounts, NULLs, refunds, failed and doubled payments."""

from datetime import datetime, timedelta

from craft.dice import Dice

SCHEMA = """\
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE customers (
  customer_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  email TEXT NOT NULL,
  country TEXT,
  is_test INTEGER NOT NULL DEFAULT 0,
  merged_into INTEGER REFERENCES customers (customer_id)
);
CREATE TABLE products (
  product_id INTEGER PRIMARY KEY,
  sku TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  category TEXT NOT NULL,
  discontinued_on TEXT
);
CREATE TABLE orders (
  order_id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
  ordered_at TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('draft', 'paid', 'shipped', 'delivered', 'cancelled')),
  shipping_cents INTEGER NOT NULL,
  voucher_cents INTEGER
);
CREATE TABLE order_lines (
  line_id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL REFERENCES orders (order_id),
  product_id INTEGER REFERENCES products (product_id),
  quantity INTEGER NOT NULL,
  unit_price_cents INTEGER NOT NULL,
  discount_cents INTEGER
);
CREATE TABLE payments (
  payment_id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL REFERENCES orders (order_id),
  paid_at TEXT NOT NULL,
  method TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('ok', 'failed', 'pending')),
  amount_cents INTEGER NOT NULL
);
CREATE TABLE refunds (
  refund_id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL REFERENCES orders (order_id),
  asked_at TEXT NOT NULL,
  paid_out_at TEXT,
  amount_cents INTEGER NOT NULL
);
"""
FIRST = (
    "Ada Bela Carla Dario Edda Finn Greta Hugo Ines Jonas Kaja Levi Mira Nils Olga Pavel Rosa Sven Tilda Ugo".split()
)
LAST = "Abel Brandt Conti Dahl Egger Faber Grau Holm Ilic Jansen Kroll Lund Moser Novak Oberg Pohl Rossi Saar".split()
THINGS = {
    "kitchen": "Bread knife,Oak board,Enamel pot,Whisk,Colander,Tea strainer,Pepper mill,Rolling pin,Milk jug",
    "garden": "Trowel,Watering can,Seed tray,Pruning shears,Twine,Rain gauge,Bird feeder,Plant labels",
    "light": "Desk lamp,Lantern,Candle holder,Paper shade,Night light,Clip lamp,Wall sconce",
    "textile": "Wool blanket,Linen towel,Apron,Cushion cover,Door mat,Oven glove,Table runner,Bath robe",
    "paper": "Notebook,Wall calendar,Gift tags,Letter set,Sketch pad,Address book,Bookmark",
}
START = datetime(2025, 1, 3, 6)
END = datetime(2026, 5, 31, 22)


def literal(value) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")


def make(dice: Dice) -> dict[str, list[tuple]]:
    customers = []
    for number in range(1, 321):
        name = f"{dice.pick(FIRST)} {dice.pick(LAST)}"
        mail = name.lower().replace(" ", ".") + f"{number}@mail.example"
        country = dice.pick(["AT", "AT", "CH", "DE", "DE", "DE", "IT", "SI", None, ""])
        customers.append([number, name, mail, country, int(dice.chance(0.02)), None])
    real = [row for row in customers if not row[4]]
    for row in dice.sample(real[200:], 24):
        # The double has the name of the account it went into, but often another country.
        kept = dice.pick(real[:200])
        row[1], row[5] = kept[1], kept[0]
    products, number = [], 0
    for category, titles in THINGS.items():
        for title in titles.split(","):
            for size in ("", ", large") if dice.chance(0.5) else ("",):
                number += 1
                gone = stamp(START + timedelta(days=dice.between(100, 500)))[:10] if dice.chance(0.15) else None
                products.append((number, f"{category[:2].upper()}-{1000 + number * 7}", title + size, category, gone))
    prices = {row[0]: dice.between(4, 90) * 100 + dice.pick([0, 50, 90, 95]) for row in products}
    never = {row[0] for row in dice.sample(products, 5)}
    early = {row[0] for row in dice.sample([row for row in products if row[0] not in never], 9)}
    loyal = dice.sample([row[0] for row in customers], 40)
    minutes = int((END - START).total_seconds() // 60)
    times = sorted(START + timedelta(minutes=dice.below(minutes), seconds=dice.below(60)) for _ in range(1500))
    orders, lines, payments, refunds = [], [], [], []
    for number, time in enumerate(times, 5001):
        customer = dice.pick(loyal) if dice.chance(0.4) else dice.between(1, 320)
        status = dice.pick(
            ["paid", "shipped", "delivered", "delivered", "delivered", "delivered", "cancelled", "draft"]
        )
        voucher = dice.pick([500, 1000, 0]) if dice.chance(0.2) else None
        orders.append((number, customer, stamp(time), status, dice.pick([0, 390, 590]), voucher))
        due = orders[-1][4] - (voucher or 0)
        for _ in range(0 if dice.chance(0.01) else dice.pick([1, 1, 2, 2, 3, 5])):
            product = dice.pick(products)[0]
            while product in never or product in early and time.year == 2026 and status not in ("cancelled", "draft"):
                product = dice.pick(products)[0]
            price, some = prices[product], dice.pick([1, 1, 1, 2, 3])
            if dice.chance(0.05):
                product, price, some = None, 350, 1
            off = price * some // 10 if dice.chance(0.25) else None
            lines.append((len(lines) + 1, number, product, some, price, off))
            due += price * some - (off or 0)
        method = dice.pick(["card", "card", "transfer", "wallet"])
        paid = stamp(time + timedelta(minutes=dice.between(0, 2000)))
        if dice.chance(0.12):
            payments.append((len(payments) + 1, number, paid, method, dice.pick(["failed", "failed", "pending"]), due))
        kind = dice.below(100)
        parts = [due]
        if status == "draft" or kind < 3:
            parts = []
        elif kind < 6:
            parts = [due, due]
        elif kind < 9:
            parts = [due - dice.pick([100, 350, 1000])]
        elif kind < 17:
            parts = [due // 2, due - due // 2]
        for part in parts:
            payments.append((len(payments) + 1, number, paid, method, "ok", part))
        if status == "cancelled" and parts or status != "draft" and dice.chance(0.11):
            for _ in range(dice.pick([1, 1, 2])):
                asked = time + timedelta(days=dice.between(1, 45), minutes=dice.below(900))
                out = stamp(asked + timedelta(days=dice.between(1, 12))) if dice.chance(0.8) else None
                refunds.append((len(refunds) + 1, number, stamp(asked), out, max(due // dice.pick([2, 3, 4]), 100)))
    return {
        "customers": [tuple(row) for row in customers],
        "products": products,
        "orders": orders,
        "order_lines": lines,
        "payments": payments,
        "refunds": refunds,
    }


def files() -> dict[str, bytes]:
    out = [SCHEMA]
    for table, rows in make(Dice(20260520)).items():
        for begin in range(0, len(rows), 250):
            values = ",\n".join("(" + ",".join(map(literal, row)) + ")" for row in rows[begin : begin + 250])
            out.append(f"INSERT INTO {table} VALUES\n{values};\n")
    out.append(
        "CREATE INDEX order_lines_order ON order_lines (order_id);\nCREATE INDEX payments_order ON payments "
        "(order_id);\n"
    )
    out.append("COMMIT;\n")
    return {"sql_reports/shop.sql": "".join(out).encode("utf-8")}
