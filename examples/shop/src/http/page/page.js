// The page on which products are listed and one product is edited. All content becomes text, never HTML.
import { changes } from "./merge.js";

const CATEGORIES = ["cups", "plates", "teapots"];
const LABELS = { name: "Name", category: "Category", cents: "Price", stock: "Stock", description: "Description" };
const FIELDS = Object.keys(LABELS);
const LARGEST = 2 ** 32 - 1;

const byId = (id) => document.getElementById(id);
const form = byId("form");

// The product as this page has read it, and the etag of that state.
let base;
let etag;
// What to do when the user types into a field that both users have changed.
const retyped = new Map();

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function shown(field, value) {
  if (value === "") return "(empty)";
  return field === "cents" ? (value / 100).toFixed(2) : String(value);
}

// Parses a number of the form. Sets the message of its input, if it is none.
function number(input, pattern, scale, message) {
  const text = input.value.trim().replace(",", ".");
  const value = pattern.test(text) ? Math.round(Number(text) * scale) : NaN;
  input.setCustomValidity(value <= LARGEST ? "" : message);
  return value;
}

function read() {
  const { name, category, cents, stock, description } = form.elements;
  return {
    id: base.id,
    category: category.value,
    name: name.value,
    cents: number(cents, /^\d+(\.\d{1,2})?$/, 100, "A price such as 12.50"),
    stock: number(stock, /^\d+$/, 1, "A whole number"),
    description: description.value,
  };
}

function fill(product) {
  for (const field of FIELDS) setField(field, product[field]);
}

function setField(field, value) {
  form.elements[field].value = field === "cents" ? shown(field, value) : value;
}

function say(text, isBad = false) {
  byId("status").textContent = text;
  byId("status").classList.toggle("bad", isBad);
}

const isEdited = () => {
  const mine = read();
  return FIELDS.some((field) => mine[field] !== base[field]);
};

async function save(event) {
  event.preventDefault();
  const mine = read();
  const unchosen = document.querySelector("#changes fieldset:not(:has(:checked))");
  if (unchosen) {
    say(`Choose a value: ${unchosen.dataset.label}.`, true);
    unchosen.querySelector("input").focus();
    return;
  }
  if (!form.reportValidity()) return;
  byId("save").disabled = true;
  say("Saving…");
  try {
    answer(...(await send(mine)));
  } finally {
    byId("save").disabled = false;
  }
}

// Returns the answer and its body, or nothing if there is none.
async function send(mine) {
  const headers = { "content-type": "application/json", "if-match": etag };
  try {
    const response = await fetch(`/products/${base.id}`, { method: "PUT", headers, body: JSON.stringify(mine) });
    return [response, await response.json()];
  } catch {
    return [];
  }
}

// Shows an answer. The user may have typed since the request was sent, so no field is filled with what was sent.
function answer(response, body) {
  if (!response) {
    say("The shop cannot be reached. What you typed is still here: save again later.", true);
  } else if (response.ok) {
    known(body, response);
    clearReview();
    say(isEdited() ? "Saved, except what you have typed since." : "Saved.");
  } else if (response.status === 412 && body.current) {
    review(body.current, response);
  } else if (response.status === 412) {
    say("Another user has deleted this product. What you typed is still here.", true);
  } else if (body.holder) {
    const seconds = response.headers.get("retry-after");
    say(`${body.holder} is taking stock of this product. What you typed is still here: save again, at the latest in ${seconds} s.`, true);
  } else {
    say(`${body.detail}. What you typed is still here.`, true);
  }
}

function known(product, response) {
  base = product;
  etag = response.headers.get("etag");
  byId("title").textContent = product.name;
  document.title = `${product.name} · Shop`;
}

// Shows what another user has changed. The next save starts from the state that the other user has left.
function review(theirs, response) {
  const found = changes(FIELDS, base, read(), theirs);
  const of = (kind) => found.filter((change) => change.kind === kind);
  known(theirs, response);
  clearReview();
  if (found.length === 0) {
    say("Saved: another user has made the same changes.");
    return;
  }
  for (const { field } of of("theirs")) setField(field, theirs[field]);
  byId("changes").append(...of("both").map(choice), ...of("theirs").map(card), ...of("mine").map(card));
  byId("review").hidden = false;
  byId("save").textContent = "Save both changes";
  say("");
  byId("review").focus();
}

function clearReview() {
  byId("review").hidden = true;
  byId("changes").replaceChildren();
  retyped.clear();
  byId("save").textContent = "Save";
}

// A change of one user.
function card(change) {
  const { field, kind } = change;
  const [now, note] = kind === "theirs" ? ["Theirs", "only the other user changed it"] : ["Yours", "only you changed it"];
  const title = element("h3", {}, LABELS[field], element("span", {}, `: ${note}`));
  const value = (side, text) => [element("dt", {}, text), element("dd", {}, shown(field, change[side]))];
  return element("article", {}, title, element("dl", {}, ...value("base", "It was"), ...value(kind, now)));
}

// A change of both users, of whom this one decides.
function choice({ field, base: before, theirs }) {
  const option = (side, text, choose) => {
    const input = element("input", { type: "radio", name: `choice-${field}`, id: `choice-${field}-${side}` });
    const value = element("b", {});
    input.addEventListener("change", choose);
    return { input, value, label: element("label", { htmlFor: input.id }, input, element("span", {}, text), value) };
  };
  let typed = form.elements[field].value;
  const yours = option("mine", "Yours", () => (form.elements[field].value = typed));
  const other = option("theirs", "Theirs", () => setField(field, theirs));
  yours.value.textContent = typed || shown(field, "");
  other.value.textContent = shown(field, theirs);
  // A value that the user types after the conflict is the choice of the user.
  retyped.set(field, (text) => {
    typed = text;
    yours.value.textContent = text || shown(field, "");
    yours.input.checked = true;
  });
  const legend = element("legend", {}, `${LABELS[field]}: both of you changed it`);
  const was = element("p", {}, `It was ${shown(field, before)}.`);
  const set = element("fieldset", {}, legend, was, yours.label, other.label);
  set.dataset.label = LABELS[field];
  return set;
}

form.addEventListener("input", ({ target }) => {
  target.setCustomValidity("");
  retyped.get(target.name)?.(target.value);
});
form.addEventListener("submit", save);
window.addEventListener("beforeunload", (event) => {
  if (base && isEdited()) event.preventDefault();
});

async function edit(id) {
  byId("editor").hidden = false;
  const response = await fetch(`/products/${encodeURIComponent(id)}`);
  const body = await response.json();
  if (!response.ok) {
    form.hidden = true;
    byId("title").textContent = body.detail;
    return;
  }
  known(body, response);
  fill(body);
}

async function list() {
  byId("list").hidden = false;
  for (const category of CATEGORIES) {
    const items = element("ul", {});
    byId("categories").append(element("h2", {}, category), items);
    await more(category, items, "");
  }
}

async function more(category, items, page) {
  const response = await fetch(`/products?${new URLSearchParams({ category, ...(page && { page }) })}`);
  const body = await response.json();
  for (const product of body.items) {
    const link = element("a", { href: `/?${new URLSearchParams({ product: product.id })}` }, product.name);
    const facts = element("span", {}, `${shown("cents", product.cents)} · ${product.stock} in stock`);
    items.append(element("li", {}, link, facts));
  }
  if (body.next) {
    const button = element("button", { type: "button" }, "More");
    button.addEventListener("click", () => {
      button.parentElement.remove();
      more(category, items, body.next);
    });
    items.append(element("li", {}, button));
  }
}

const product = new URLSearchParams(location.search).get("product");
await (product ? edit(product) : list()).catch(() => {
  document.querySelector("main").append(element("p", {}, "The shop cannot be reached. Load the page again later."));
});
