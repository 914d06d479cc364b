// The merge of two edits that started from the same product.

/**
 * Compares one field of the product before both edits, in this form, and as another user has saved it.
 *
 * | mine | theirs | result |
 * |---|---|---|
 * | unchanged | unchanged, or changed | `theirs`, if it was changed |
 * | changed | unchanged | `mine` |
 * | changed | changed to the same value | `same` |
 * | changed | changed to another value | `both`: the user decides |
 */
function compare(base, mine, theirs) {
  if (mine === theirs) return "same";
  if (mine === base) return "theirs";
  return theirs === base ? "mine" : "both";
}

/** Returns one change for each field in which `mine` and `theirs` differ. */
export function changes(fields, base, mine, theirs) {
  const all = fields.map((field) => ({
    field,
    kind: compare(base[field], mine[field], theirs[field]),
    base: base[field],
    mine: mine[field],
    theirs: theirs[field],
  }));
  return all.filter((change) => change.kind !== "same");
}
