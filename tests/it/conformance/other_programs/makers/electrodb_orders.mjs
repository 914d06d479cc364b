// Orders written by ElectroDB. `make.py` runs this with `write` and with `change`. ElectroDB has no version check, so the program
// increments and checks the attribute `version` itself.

import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Entity } from "electrodb";

const client = new DynamoDBClient({ endpoint: process.env.ENDPOINT });

const Order = new Entity(
  {
    model: { service: "shop", entity: "order", version: "1" },
    attributes: {
      customer: { type: "string", required: true },
      number: { type: "number", required: true, padding: { length: 6, char: "0" } },
      status: { type: ["OPEN", "PLACED", "SHIPPED", "DELIVERED"], required: true },
      total: { type: "number", required: true },
      weight: { type: "number", required: true },
      paid: { type: "boolean", required: true },
      note: { type: "string" },
      placedAt: { type: "string", required: true },
      expiresAt: { type: "number" },
      tags: { type: "set", items: "string" },
      parcels: { type: "set", items: "number" },
      address: { type: "map", properties: { street: { type: "string", required: true }, zip: { type: "string" } } },
      lines: {
        type: "list",
        required: true,
        items: { type: "map", properties: { sku: { type: "string" }, quantity: { type: "number" } } },
      },
      receipt: { type: "any" },
      version: { type: "number", required: true, default: 1 },
    },
    indexes: {
      orders: { pk: { field: "pk", composite: ["customer"] }, sk: { field: "sk", composite: ["number"] } },
      byStatus: {
        index: "by_status",
        pk: { field: "gsi1pk", composite: ["status"] },
        sk: { field: "gsi1sk", composite: ["placedAt"] },
      },
    },
  },
  { client, table: "orders" },
);

const placedAt = "2026-03-01T08:26:00Z";
const key = { customer: "alice", number: 7 };

async function write() {
  await Order.create({
    ...key,
    status: "PLACED",
    total: 13912,
    weight: 1.5,
    paid: true,
    note: "Ring twice",
    placedAt,
    expiresAt: 2087942400,
    tags: ["gift", "fragile"],
    parcels: [1, 2],
    address: { street: "1 High Street" },
    lines: [{ sku: "85123A", quantity: 6 }],
    receipt: Uint8Array.of(0, 1, 254, 255),
  }).go();
  await Order.create({ ...key, number: 8, status: "OPEN", total: 2, weight: 2, paid: false, placedAt, lines: [] }).go();
}

const isVersion = (expected) => ({ version }, { eq }) => eq(version, expected);

// A change of `status` or `placedAt` changes the key of the index, which ElectroDB builds from both.
async function change() {
  await Order.patch(key).set({ status: "SHIPPED", placedAt }).add({ version: 1 }).where(isVersion(1)).go();
  await Order.patch(key).set({ note: "Ring once" }).add({ version: 1 }).where(isVersion(2)).go();
  await Order.remove(key).where(isVersion(3)).go();
}

await { write, change }[process.argv[2]]();
