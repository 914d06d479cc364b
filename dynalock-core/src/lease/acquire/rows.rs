use super::{acquisition::Denial, spec::AcquireSpec};
use crate::{
    codec::Item,
    error::{ActionReason, Error},
    lease::record::LockRecord,
    operation::{Failure, Transact, Write},
    random,
    retry::Attempts,
};

/// All attempts of the transaction contain the same ClientRequestToken, so DynamoDB applies the
/// transaction at most once. Returns the cancellation reasons if a condition was false.
pub(crate) async fn transact(
    attempts: &mut Attempts,
    AcquireSpec { connection, row, .. }: &AcquireSpec,
    writes: impl Iterator<Item = Write>,
) -> Result<Option<Vec<ActionReason>>, Error> {
    let token = random::token(&mut random::generator());
    let request = Transact::new(writes, Some(token)).map_err(|why| Error::Rejected(why.after(attempts.spent())))?;
    let client = connection.client.clone();
    attempts
        .repeat_of(request.len(), &row.table, || async {
            match Box::pin(request.send(&client)).await {
                Ok(()) => Ok(None),
                Err(Failure::Cancelled(reasons)) if reasons.show_conflicts() => Ok(Some(reasons.into_vec())),
                // If no condition was false, DynamoDB cancelled the transaction because of
                // contention or capacity, so the transaction can be repeated.
                Err(Failure::Cancelled(reasons)) => Err(Failure::of_cancelled(reasons)),
                Err(failure) => Err(failure),
            }
        })
        .await
}

pub(crate) fn denials<'a>(specs: impl Iterator<Item = &'a AcquireSpec>, reasons: Vec<ActionReason>) -> Vec<Denial> {
    let each = specs.zip(reasons).enumerate().filter(|(_, (_, reason))| reason.class().is_some());
    each.map(|(index, (spec, reason))| {
        let record = LockRecord::of(&spec.row.layout, reason.item.as_ref());
        Denial { index, record }
    })
    .collect()
}

/// Reads the rows of several locks in one table by consistent reads.
pub(crate) async fn read_rows<'a>(
    attempts: &mut Attempts,
    specs: impl Iterator<Item = &'a AcquireSpec>,
) -> Result<Vec<Option<Item>>, Error> {
    let specs: Vec<_> = specs.collect();
    let keys: Vec<_> = specs.iter().map(|spec| spec.row.key.clone()).collect();
    let rows = attempts.read_many(&specs[0].row.table, keys.clone()).await?;
    let row_of = |key: &Item| rows.iter().find(|row| key.iter().all(|(name, value)| row.get(name) == Some(value)));
    Ok(keys.iter().map(|key| row_of(key).cloned()).collect())
}
