//! Where the fields of a tracepoint's records stand, as `events/…/format` of tracefs says. Fields move
//! between versions of the kernel, so nothing is taken for granted.

/// The layout of one tracepoint's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// The number that its records begin with.
    pub(super) id: u16,
    fields: Vec<(String, Field)>,
}

/// Where a number stands in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    offset: usize,
    size: usize,
}

impl Format {
    /// None if it has no id.
    pub(super) fn parse(text: &str) -> Option<Format> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        let fields = text.lines().filter_map(|line| field(line.trim().strip_prefix("field:")?));
        Some(Format { id, fields: fields.collect() })
    }

    /// The field of this name; of an array, the whole.
    pub(super) fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(found, _)| found == name).map(|(_, field)| *field)
    }
}

/// `unsigned long args[6];  offset:16;  size:48;  signed:0;`
fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?;
    let name = declaration.split('[').next()?.split_whitespace().next_back()?;
    let mut number = |name: &str| parts.next()?.strip_prefix(name)?.parse().ok();
    let (offset, size) = (number("offset:")?, number("size:")?);
    Some((name.to_owned(), Field { offset, size }))
}

impl Field {
    /// The number in a record; none if the record is too short, or the field is no number.
    pub(super) fn read(self, record: &[u8]) -> Option<i64> {
        let bytes = record.get(self.offset..self.offset.checked_add(self.size)?)?;
        match self.size {
            1 => Some(i64::from(bytes[0])),
            2 => Some(i64::from(i16::from_ne_bytes(bytes.try_into().ok()?))),
            4 => Some(i64::from(i32::from_ne_bytes(bytes.try_into().ok()?))),
            8 => Some(i64::from_ne_bytes(bytes.try_into().ok()?)),
            _ => None,
        }
    }

    /// The `index`th of eight bytes each.
    pub(super) fn item(self, index: usize) -> Field {
        Field { offset: self.offset + 8 * index, size: 8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name: sys_enter
ID: 443
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:long id;	offset:8;	size:8;	signed:1;
	field:unsigned long args[6];	offset:16;	size:48;	signed:0;

print fmt: \"NR %ld (%lx)\", REC->id, REC->args[0]
";

    #[test]
    fn numbers_are_read_where_the_format_has_them() {
        let format = Format::parse(TEXT).unwrap();
        assert_eq!(format.id, 443);
        let record: Vec<u8> = (0..64).collect();
        let read = |field: Field| field.read(&record);
        assert_eq!(read(format.field("common_pid").unwrap()), Some(0x0706_0504));
        let second = format.field("args").unwrap().item(1);
        assert_eq!(read(second), Some(0x1f1e_1d1c_1b1a_1918));
        assert_eq!(read(format.field("args").unwrap().item(6)), None);
        assert_eq!(read(format.field("args").unwrap()), None);
        assert_eq!(format.field("ret"), None);
        assert_eq!(Format::parse("name: x"), None);
    }
}
