//! The capacity units of items, as DynamoDB rounds them.

/// Returns the write units of one write of an item with this size.
pub(super) fn write_units(bytes: usize) -> f64 {
    units(bytes, 1024)
}

/// Returns the read units of one strongly consistent read of an item with this size.
pub(super) fn read_units(bytes: usize) -> f64 {
    units(bytes, 4096)
}

/// Returns one unit for each started block. A missing item costs one unit.
fn units(bytes: usize, block: usize) -> f64 {
    let units = bytes.div_ceil(block).max(1);
    f64::from(u32::try_from(units).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_started_block_costs_one_unit() {
        let all = [0, 1, 1024, 1025, 2048, 4096, 4097, 400 * 1024].map(|bytes| (write_units(bytes), read_units(bytes)));
        let expected =
            [(1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (2.0, 1.0), (2.0, 1.0), (4.0, 1.0), (5.0, 2.0), (400.0, 100.0)];
        assert_eq!(all, expected);
    }
}
