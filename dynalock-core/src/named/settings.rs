use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::{
    error::{Error, Result},
    key::KeyType,
    lease::{
        LeaseOptions, Wait,
        acquire::spec::AcquireSpec,
        held_grant::Background,
        name::{row_name, shown},
        row::{LeaseSubject, Row},
    },
    model::{Item, KeyModel, LockModel, Model, TimesModel},
    retry::{CallCost, Connection, Limits},
};

pub(super) static MODEL: Model = Model {
    table: "locks",
    partition_key: KeyModel { name: "name", key_type: KeyType::S },
    sort_key: None,
    // The rows of named locks store neither a version nor write ids, but a `Model` requires
    // settings for both.
    version: "_version",
    version_is_field: false,
    times: TimesModel::NONE,
    write_ids: 4,
    attributes: &[],
    show_key: true,
    aliases: &[],
    flattens: false,
    lock: Some(LockModel::DEFAULT),
    indexes: &[],
};

/// Returns the name and the namespace of a lock, from the key of the lock's row.
pub(super) fn lock_name(row: &Item) -> Option<String> {
    shown(row.get(MODEL.partition_key.name)?.as_s().ok()?).map(|name| name.to_string())
}

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(super) connection: Arc<Connection>,
    pub(super) table: Arc<str>,
    pub(super) namespace: Option<Arc<str>>,
    pub(crate) options: LeaseOptions,
    pub(super) wait: Option<Wait>,
    pub(super) owner: Arc<str>,
    pub(super) limits: Limits,
    pub(super) limits_of_all: Limits,
}

impl Settings {
    pub(super) fn wait(&self) -> Wait {
        self.wait.unwrap_or_else(|| self.options.default_wait())
    }

    /// Returns the parameters of one call that acquires the locks in `names`.
    pub(super) fn specs(&self, names: &[Arc<str>], payload: Option<&Arc<[u8]>>) -> Result<Vec<AcquireSpec>> {
        self.options.check()?;
        let background = Background::start(self.options.heartbeat, &self.connection)?;
        let call_cost = CallCost::begin_call(self.connection.meter.as_ref(), self.limits.budget);
        let spec = |name: &Arc<str>| {
            let row_name = self.row_name(name)?;
            Ok(AcquireSpec {
                connection: Arc::clone(&self.connection),
                row: self.row_named(&row_name),
                row_name,
                options: self.options,
                wait: self.wait(),
                owner_label: Arc::clone(&self.owner),
                payload: payload.cloned(),
                limits: self.limits,
                call_cost: call_cost.clone(),
                background: background.clone(),
            })
        };
        names.iter().map(spec).collect()
    }

    pub(super) fn row(&self, name: &str) -> Result<Row> {
        Ok(self.row_named(&self.row_name(name)?))
    }

    pub(super) fn row_named(&self, row_name: &str) -> Row {
        let key = (MODEL.partition_key.name.to_owned(), AttributeValue::S(row_name.to_owned()));
        let (table, subject) = (Arc::clone(&self.table), LeaseSubject::Name);
        Row { table, key: [key].into(), layout: LockModel::DEFAULT, subject }
    }

    fn row_name(&self, name: &str) -> Result<Arc<str>> {
        row_name(name, self.namespace.as_deref()).map_err(|reason| Error::InvalidKey {
            table: Arc::clone(&self.table),
            attribute: MODEL.partition_key.name,
            reason,
        })
    }
}
