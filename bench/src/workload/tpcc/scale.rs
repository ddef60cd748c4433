//! The size of the population, and the transactions that are run.

/// The size of the population. [`Scale::SPEC`] is clause 1.2.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    pub items: u64,
    /// For each district, which initially has as many orders.
    pub customers: u64,
    /// Orders of each district that are initially undelivered.
    pub undelivered: u64,
}

impl Scale {
    pub const SPEC: Scale = Scale { items: 100_000, customers: 3_000, undelivered: 900 };
    /// For tests: a hundredth.
    pub const SMALL: Scale = Scale { items: 1_000, customers: 30, undelivered: 9 };
}

/// The transactions that are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mix {
    /// 45 % New-Order, 43 % Payment, 4 % each of Order-Status, Delivery and Stock-Level (clause 5.2.3).
    Full,
    /// Half New-Order, half Payment: what the Taurus paper and its code measure.
    Half,
    NewOrder,
    Payment,
}

impl Mix {
    /// Shares of the calls, in per cent.
    pub(super) fn shares(self) -> [u32; 5] {
        match self {
            Mix::Full => [45, 43, 4, 4, 4],
            Mix::Half => [50, 50, 0, 0, 0],
            Mix::NewOrder => [100, 0, 0, 0, 0],
            Mix::Payment => [0, 100, 0, 0, 0],
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Mix::Full => "full mix",
            Mix::Half => "New-Order and Payment half each",
            Mix::NewOrder => "New-Order only",
            Mix::Payment => "Payment only",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Tpcc {
    pub warehouses: u64,
    pub scale: Scale,
    pub mix: Mix,
}

/// Districts of a warehouse.
pub const DISTRICTS: u64 = 10;
