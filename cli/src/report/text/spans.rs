//! Lists of byte ranges for people: ranges at equal distances are one item, and a long list goes on in the next line.

/// Ranges at equal distances that become one item.
const FOLDED: usize = 4;

/// Columns of a line.
const WIDTH: usize = 110;

/// Ranges of one length at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item {
    offset: u64,
    length: u64,
    distance: u64,
    count: usize,
}

impl Item {
    fn shown(self) -> String {
        let Self { offset, length, distance, count } = self;
        // Offsets of the first byte and of the one behind the last.
        let first = format!("[{offset}, {})", offset.saturating_add(length));
        if count == 1 { first } else { format!("{first} every {distance} bytes ({count} times)") }
    }
}

/// Prints behind `line` the first `shown` items of ranges, which are offset and length, ascending, and how many more there are up to
/// where. Lines that follow begin with `indent`.
pub fn list(line: String, spans: &[(u64, u64)], shown: usize, indent: &str) -> String {
    let items = folded(spans);
    let mut parts: Vec<String> = items.iter().take(shown).map(|item| item.shown()).collect();
    let rest: usize = items.iter().skip(shown).map(|item| item.count).sum();
    if rest > 0 {
        let end = spans.iter().map(|(offset, length)| offset.saturating_add(*length)).max().unwrap_or(0);
        parts.push(format!("and {rest} more below {end}"));
    }
    wrapped(line, &parts, indent)
}

fn folded(spans: &[(u64, u64)]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut rest = spans;
    while let [(offset, length), behind @ ..] = rest {
        let distance = behind.first().map_or(0, |next| next.0.wrapping_sub(*offset));
        let follows =
            |pair: &&[(u64, u64)]| pair[1].0.checked_sub(pair[0].0) == Some(distance) && pair[1].1 == *length;
        let count = 1 + rest.windows(2).take_while(follows).count();
        let count = if count < FOLDED { 1 } else { count };
        items.push(Item { offset: *offset, length: *length, distance, count });
        rest = &rest[count..];
    }
    items
}

fn wrapped(mut text: String, parts: &[String], indent: &str) -> String {
    let mut column = text.chars().count();
    for part in parts {
        let length = part.chars().count();
        if column + 1 + length > WIDTH && column > indent.len() {
            text.push('\n');
            text.push_str(indent);
            column = indent.len();
        } else {
            text.push(' ');
            column += 1;
        }
        text.push_str(part);
        column += length;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_at_equal_distances_are_one_item() {
        let spans: Vec<(u64, u64)> = [(1, 2)]
            .into_iter()
            .chain((0..250).map(|index| (16 + index * 16, 4)))
            .chain([(8000, 4), (9000, 5), (10_000, 4)])
            .collect();
        assert_eq!(
            list("in:".to_owned(), &spans, usize::MAX, ""),
            "in: [1, 3) [16, 20) every 16 bytes (250 times) [8000, 8004) [9000, 9005) [10000, 10004)"
        );
        assert_eq!(list("in:".to_owned(), &spans, 1, ""), "in: [1, 3) and 253 more below 10004");
        assert_eq!(list("in:".to_owned(), &[], 1, ""), "in:");
    }

    #[test]
    fn a_damaged_list_in_any_order_is_shown_as_it_is() {
        let spans = [(10, 1), (5, 1), (0, 1), (u64::MAX, u64::MAX), (u64::MAX, 1)];
        let shown = list(String::new(), &spans, usize::MAX, "");
        assert_eq!(shown.matches('[').count(), 5, "{shown}");
    }

    #[test]
    fn a_long_list_goes_on_in_further_lines() {
        let spans: Vec<(u64, u64)> = (0..1000).map(|index| (index * index * 100, 7)).collect();
        let text = list("  changed:".to_owned(), &spans, usize::MAX, "      ");
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("      [")) && text.lines().count() > 100);
        assert_eq!(text.matches('[').count(), 1000);
    }
}
