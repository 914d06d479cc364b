"""Orders written by PynamoDB. `make.py` runs this with `write` and with `change`."""

import os
import sys
from datetime import datetime, timezone

from pynamodb.attributes import (
    BinaryAttribute,
    BooleanAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    NumberSetAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    UTCDateTimeAttribute,
    VersionAttribute,
)
from pynamodb.models import Model


class Address(MapAttribute):
    street = UnicodeAttribute()
    zip_code = UnicodeAttribute(attr_name="zip", null=True)


class Line(MapAttribute):
    sku = UnicodeAttribute()
    quantity = NumberAttribute()


class Order(Model):
    class Meta:
        table_name = "orders"
        host = os.environ["ENDPOINT"]
        region = "us-east-1"

    customer = UnicodeAttribute(hash_key=True)
    number = NumberAttribute(range_key=True)
    status = UnicodeAttribute()
    total = NumberAttribute()
    weight = NumberAttribute()
    paid = BooleanAttribute()
    note = UnicodeAttribute(null=True)
    placed_at = UTCDateTimeAttribute()
    expires_at = TTLAttribute(null=True)
    tags = UnicodeSetAttribute(null=True)
    parcels = NumberSetAttribute(null=True)
    address = Address(null=True)
    lines = ListAttribute(of=Line)
    receipt = BinaryAttribute(legacy_encoding=False, null=True)
    version = VersionAttribute()


def write():
    placed_at = datetime(2026, 3, 1, 8, 26, tzinfo=timezone.utc)
    Order(
        "alice",
        7,
        status="PLACED",
        total=13912,
        weight=1.5,
        paid=True,
        note="Ring twice",
        placed_at=placed_at,
        expires_at=datetime(2036, 3, 1, tzinfo=timezone.utc),
        tags={"gift", "fragile"},
        parcels={1, 2},
        address=Address(street="1 High Street"),
        lines=[Line(sku="85123A", quantity=6)],
        receipt=bytes([0, 1, 254, 255]),
    ).save()
    Order("alice", 8, status="OPEN", total=2.0, weight=2.0, paid=False, placed_at=placed_at, lines=[]).save()


def change():
    order = Order.get("alice", 7)
    order.status = "SHIPPED"
    order.save()
    order.save()
    order.update(actions=[Order.status.set("DELIVERED")])
    order.delete()


{"write": write, "change": change}[sys.argv[1]]()
