//! Network addresses: the types inet and cidr ([`Network`]), and the texts of macaddr and macaddr8.
//!
//! An `inet` is a host's address together with the length of its network's mask, a `cidr` a network. They are
//! ordered by family, network, length of the mask, and host.
//!
//! Reference: `network.c`, `inet_net_pton.c`, `inet_net_ntop.c`, `mac.c` and `mac8.c` of PostgreSQL 15.

mod mac;

use std::cmp::Ordering;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::error::{Error, Result, sqlstate};

pub(crate) use mac::{narrowed, parse_mac, parse_mac8, widened, write_mac};

/// An address and the number of its bits that belong to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
    is_cidr: bool,
}

impl From<IpAddr> for Network {
    /// The address of a host, with a mask that covers all of it.
    fn from(address: IpAddr) -> Network {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        Network { address, bits, is_cidr: false }
    }
}

impl Network {
    /// `None` if the address has fewer bits, or if a `cidr` has bits set to the right of its mask.
    pub fn new(address: IpAddr, bits: u8, is_cidr: bool) -> Option<Network> {
        let made = Network { address, bits, is_cidr };
        let is_valid = bits <= made.width() && (!is_cidr || made.number() & made.host_mask() == 0);
        is_valid.then_some(made)
    }

    pub fn address(self) -> IpAddr {
        self.address
    }

    /// The length of the mask.
    pub fn bits(self) -> u8 {
        self.bits
    }

    /// Whether it is a `cidr`.
    pub fn is_cidr(self) -> bool {
        self.is_cidr
    }

    /// Appends the bytes of the address, from the highest on: 4 or 16.
    pub fn append_octets(self, out: &mut Vec<u8>) {
        match self.address {
            IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
            IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
        }
    }

    /// The address that has these bytes, 4 or 16.
    pub fn address_of(octets: &[u8]) -> Option<IpAddr> {
        if let Ok(octets) = <[u8; 4]>::try_from(octets) {
            return Some(IpAddr::from(octets));
        }
        <[u8; 16]>::try_from(octets).ok().map(IpAddr::from)
    }

    /// The number of bits of an address of its family.
    pub fn width(self) -> u8 {
        if self.address.is_ipv4() { 32 } else { 128 }
    }

    /// 4 or 6.
    pub fn family(self) -> u8 {
        if self.address.is_ipv4() { 4 } else { 6 }
    }

    pub(crate) fn number(self) -> u128 {
        match self.address {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        }
    }

    /// The same family and mask with another address, of which only the lowest bits are taken.
    pub(crate) fn with_number(self, number: u128) -> Network {
        let address = match self.address {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(number as u32)),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(number)),
        };
        Network { address, ..self }
    }

    pub(crate) fn with_bits(self, bits: u8) -> Network {
        Network { bits: bits.min(self.width()), ..self }
    }

    /// All bits of an address of its family.
    pub(crate) fn all_bits(self) -> u128 {
        u128::MAX >> (128 - self.width())
    }

    /// The bits to the right of the mask.
    pub(crate) fn host_mask(self) -> u128 {
        self.all_bits().checked_shr(u32::from(self.bits)).unwrap_or(0)
    }

    /// The network that it is in.
    #[must_use]
    pub(crate) fn to_cidr(self) -> Network {
        Network { is_cidr: true, ..self.with_number(self.number() & !self.host_mask()) }
    }

    /// The same, no longer a `cidr`.
    #[must_use]
    pub(crate) fn to_inet(self) -> Network {
        Network { is_cidr: false, ..self }
    }

    /// The order of the first bits of the addresses, which are of one family.
    fn order_of_bits(self, other: Network, bits: u8) -> Ordering {
        let first = |one: Network| one.number().checked_shr(u32::from(one.width() - bits)).unwrap_or(0);
        first(self).cmp(&first(other))
    }

    /// The order of `<`. Whether one is a `cidr` is of no importance.
    pub fn order(self, other: Network) -> Ordering {
        let by_family = self.family().cmp(&other.family());
        if by_family.is_ne() {
            return by_family;
        }
        let common = self.bits.min(other.bits);
        self.order_of_bits(other, common)
            .then(self.bits.cmp(&other.bits))
            .then_with(|| self.number().cmp(&other.number()))
    }

    /// Whether both are in the smaller network of the two, so that one contains the other.
    pub(crate) fn overlaps(self, other: Network) -> bool {
        self.family() == other.family() && self.order_of_bits(other, self.bits.min(other.bits)).is_eq()
    }

    /// The text form.
    pub(crate) fn shown(self) -> String {
        match self.is_cidr || self.bits < self.width() {
            true => self.shown_with_bits(),
            false => self.host(),
        }
    }

    /// The text form, always with the length of the mask.
    pub(crate) fn shown_with_bits(self) -> String {
        format!("{}/{}", self.host(), self.bits)
    }

    /// The address alone.
    pub(crate) fn host(self) -> String {
        match self.address {
            // An address of IPv4 that is embedded in the older way.
            IpAddr::V6(address)
                if address.segments()[..6].iter().all(|segment| *segment == 0)
                    && address.segments()[6] != 0 =>
            {
                format!("::{}", Ipv4Addr::from_bits(address.to_bits() as u32))
            }
            address => address.to_string(),
        }
    }

    /// The text form of a `cidr` without the bytes to the right of its mask.
    pub(crate) fn abbreviated(self) -> String {
        match self.address {
            IpAddr::V4(address) => abbreviated_v4(address, self.bits),
            IpAddr::V6(address) => abbreviated_v6(address, self.bits),
        }
    }
}

fn abbreviated_v4(address: Ipv4Addr, bits: u8) -> String {
    let octets = address.octets();
    let count = usize::from(bits.div_ceil(8)).max(1);
    let shown: Vec<String> = octets[..count].iter().map(u8::to_string).collect();
    format!("{}/{bits}", shown.join("."))
}

/// `inet_cidr_ntop_ipv6`: the words that the mask reaches, the longest run of zeros left out.
fn abbreviated_v6(address: Ipv6Addr, bits: u8) -> String {
    if bits == 0 {
        return "::/0".to_owned();
    }
    let words = usize::from(bits.div_ceil(16)).max(2);
    let segments = &address.segments()[..words];
    let (start, length) = longest_zeros(segments);
    let is_embedded =
        length != words && start == 0 && (length == 6 || (length == 5 && address.segments()[5] == 0xffff));
    let mut shown = String::new();
    for (at, segment) in segments.iter().enumerate() {
        if (start..start + length).contains(&at) {
            let colons = usize::from(at == start) + usize::from(at == words - 1);
            shown.push_str(&"::"[..colons]);
        } else if is_embedded && at > 5 {
            let [high, low] = segment.to_be_bytes();
            shown.push_str(&format!("{}{high}", if at == 6 { ":" } else { "." }));
            // The last octet can be left out.
            if at != 7 || bits > 120 {
                shown.push_str(&format!(".{low}"));
            }
        } else {
            let colon = if shown.is_empty() { "" } else { ":" };
            shown.push_str(&format!("{colon}{segment:x}"));
        }
    }
    format!("{shown}/{bits}")
}

/// The start and the length of the first of the longest runs of zeros.
fn longest_zeros(segments: &[u16]) -> (usize, usize) {
    let mut longest = (0, 0);
    let mut run = (0, 0);
    for (at, segment) in segments.iter().enumerate() {
        run = match (segment, run.1) {
            (0, 0) => (at, 1),
            (0, length) => (run.0, length + 1),
            _ => (0, 0),
        };
        if run.1 > longest.1 {
            longest = run;
        }
    }
    longest
}

fn syntax(type_name: &str, text: &str) -> Error {
    let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
    Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, message)
}

/// Reads an `inet` or a `cidr`.
///
/// # Errors
/// 22P02.
pub(crate) fn parse(text: &str, is_cidr: bool) -> Result<Network> {
    let type_name = if is_cidr { "cidr" } else { "inet" };
    let parsed = match text.contains(':') {
        true => parse_v6(text).map(|(address, bits)| (IpAddr::V6(address), bits)),
        false => parse_v4(text, is_cidr).map(|(address, bits)| (IpAddr::V4(address), bits)),
    };
    let (address, bits) = parsed.ok_or_else(|| syntax(type_name, text))?;
    Network::new(address, bits, is_cidr).ok_or_else(|| {
        Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, format!("invalid cidr value: \"{text}\""))
            .with_detail("Value has bits set to right of mask.")
    })
}

/// The address and the length of its mask. A network may lack octets at its end, a host only if the mask does
/// not reach them.
fn parse_v4(text: &str, is_cidr: bool) -> Option<(Ipv4Addr, u8)> {
    let (address, mask) = match text.split_once('/') {
        Some((address, mask)) => (address, Some(mask)),
        None => (text, None),
    };
    let octets = match address.strip_prefix("0x").or_else(|| address.strip_prefix("0X")) {
        Some(digits) if is_cidr && !digits.is_empty() => hexadecimal_octets(digits)?,
        _ => decimal_octets(address, is_cidr)?,
    };
    let given = octets.len() as u8 * 8;
    let bits = match mask {
        Some(mask) => decimal(mask, 32)?,
        None if is_cidr => bits_of_class(&octets)?,
        None => (given == 32).then_some(32)?,
    };
    if !is_cidr && bits / 8 > given / 8 {
        return None;
    }
    let mut whole = [0; 4];
    whole[..octets.len()].copy_from_slice(&octets);
    Some((Ipv4Addr::from(whole), bits))
}

/// Octets with points between them; PostgreSQL lets a host's address end with one.
fn decimal_octets(text: &str, is_cidr: bool) -> Option<Vec<u8>> {
    let text = match is_cidr {
        true => text,
        false => text.strip_suffix('.').unwrap_or(text),
    };
    let octets = text.split('.').map(|octet| decimal(octet, 255)).collect::<Option<Vec<u8>>>()?;
    (octets.len() <= 4).then_some(octets)
}

/// Two digits for each octet, the last digit of which may be missing.
fn hexadecimal_octets(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.chars().map(|digit| digit.to_digit(16)).collect::<Option<Vec<u32>>>()?;
    let octets = digits.chunks(2).map(|pair| (pair[0] << 4 | pair.get(1).copied().unwrap_or(0)) as u8);
    (digits.len() <= 8).then(|| octets.collect())
}

/// The length of the mask of a network of IPv4 that is written without one.
fn bits_of_class(octets: &[u8]) -> Option<u8> {
    let first = *octets.first()?;
    let of_class = match first {
        240.. => 32,
        224.. => 8,
        192.. => 24,
        128.. => 16,
        _ => 8,
    };
    let bits = of_class.max(octets.len() as u8 * 8);
    Some(if bits == 8 && first == 224 { 4 } else { bits })
}

fn parse_v6(text: &str) -> Option<(Ipv6Addr, u8)> {
    let Some((address, mask)) = text.split_once('/') else {
        return text.parse().ok().map(|address| (address, 128));
    };
    let has_leading_zero = mask.len() > 1 && mask.starts_with('0');
    let bits = if has_leading_zero { None } else { decimal(mask, 128) };
    Some((address.parse().ok()?, bits?))
}

/// A number of digits only, at most this one.
fn decimal(text: &str, most: u8) -> Option<u8> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let significant = text.trim_start_matches('0');
    let number = if significant.is_empty() { 0 } else { significant.parse().ok()? };
    (is_plain && number <= most).then_some(number)
}

#[cfg(test)]
mod tests;
