//! Another program that does not know versions.

use aws_sdk_dynamodb::{
    Client,
    types::{AttributeValue, ConditionCheck, TransactWriteItem},
};

use super::{Item, s};

/// One table, used by the SDK alone: no faults, no checks. The table has only a partition key,
/// which is a string.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub(super) client: Client,
    pub(super) table: String,
    pub(super) key: &'static str,
}

impl Raw {
    pub(crate) async fn get(&self, key: &str) -> Option<Item> {
        self.get_by([(self.key, s(key))]).await
    }

    pub(crate) async fn get_by<const N: usize>(&self, key: [(&str, AttributeValue); N]) -> Option<Item> {
        let request = self.client.get_item().table_name(&self.table).consistent_read(true);
        request.set_key(Some(super::item(key))).send().await.expect("a read").item
    }

    pub(crate) async fn put(&self, item: Item) {
        self.client.put_item().table_name(&self.table).set_item(Some(item)).send().await.expect("a put");
    }

    pub(crate) async fn set(&self, key: &str, attribute: &str, value: AttributeValue) {
        let request = self.client.update_item().table_name(&self.table).key(self.key, s(key));
        let request = request.update_expression("SET #0 = :0").expression_attribute_names("#0", attribute);
        request.expression_attribute_values(":0", value).send().await.expect("an update");
    }

    pub(crate) async fn remove(&self, key: &str, attribute: &str) {
        let request = self.client.update_item().table_name(&self.table).key(self.key, s(key));
        let request = request.update_expression("REMOVE #0").expression_attribute_names("#0", attribute);
        request.send().await.expect("an update");
    }

    /// Returns whether `condition` is true for an item. `#0` is `attribute`.
    pub(crate) async fn holds(&self, key: &str, condition: &str, attribute: &str, operands: &Item) -> bool {
        let check = ConditionCheck::builder().table_name(&self.table).key(self.key, s(key));
        let check = check.condition_expression(condition).expression_attribute_names("#0", attribute);
        let check = check.set_expression_attribute_values(Some(operands.clone())).build().expect("a check");
        let checks = TransactWriteItem::builder().condition_check(check).build();
        let Err(error) = self.client.transact_write_items().transact_items(checks).send().await else { return true };
        let cancelled = error.into_service_error();
        assert!(cancelled.is_transaction_canceled_exception(), "{condition}: {cancelled:?}");
        false
    }

    pub(crate) async fn delete(&self, key: &str) {
        self.client.delete_item().table_name(&self.table).key(self.key, s(key)).send().await.expect("a delete");
    }
}
