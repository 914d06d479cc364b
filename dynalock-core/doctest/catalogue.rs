// A struct with attributes of several types, for the examples of conditions. A user derives all of
// this, but dynalock-core cannot use the derive.
use std::collections::BTreeMap;

use dynalock_core::{condition::Attribute, private::attribute};

pub struct Article;

pub struct Maker;

pub struct ArticleAttributes {
    pub sku: Attribute<Article, String>,
    pub stock: Attribute<Article, i64>,
    pub note: Attribute<Article, Option<String>>,
    pub tags: Attribute<Article, Vec<String>>,
    pub prices: Attribute<Article, BTreeMap<String, u64>>,
    pub maker: Attribute<Article, Maker>,
}

pub struct MakerAttributes {
    pub city: Attribute<Maker, String>,
}

impl Article {
    pub const ATTR: ArticleAttributes = ArticleAttributes {
        sku: attribute("sku"),
        stock: attribute("stock"),
        note: attribute("note"),
        tags: attribute("tags"),
        prices: attribute("prices"),
        maker: attribute("maker"),
    };
}

impl Maker {
    pub const ATTR: MakerAttributes = MakerAttributes { city: attribute("city") };
}
