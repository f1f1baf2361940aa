//! Records of the tracepoints become events. The source asks which tracepoints to switch on, and hands
//! over each record that it reads.

use super::format::{Field, Format};
use crate::event::{Call, Event, State};

/// The tracepoints, as tracefs has them below `events/`.
pub(super) const TRACEPOINTS: [&str; 7] = [
    "raw_syscalls/sys_enter",
    "raw_syscalls/sys_exit",
    "sched/sched_switch",
    "sched/sched_wakeup",
    "sched/sched_wakeup_new",
    "sched/sched_process_fork",
    "sched/sched_process_exit",
];

/// How each tracepoint's records are read.
#[derive(Debug)]
pub(super) struct Decoder {
    /// Where every record has its tracepoint, and the task on whose processor it was made.
    kind: Field,
    task: Field,
    kinds: [u16; 7],
    call: Field,
    arguments: Field,
    returned_call: Field,
    returned: Field,
    last: Field,
    last_state: Field,
    next: Field,
    woken: Field,
    woken_new: Field,
    child: Field,
}

impl Decoder {
    /// From the formats of [`TRACEPOINTS`], in their order.
    ///
    /// # Errors
    ///
    /// The name of a field that this kernel does not have.
    pub(super) fn new(formats: &[Format; 7]) -> Result<Decoder, String> {
        let [enter, exit, switch, wakeup, wakeup_new, fork, _] = formats;
        let field = |format: &Format, name: &str| {
            format.field(name).ok_or_else(|| format!("no field {name} in a tracepoint"))
        };
        Ok(Decoder {
            kind: field(enter, "common_type")?,
            task: field(enter, "common_pid")?,
            kinds: formats.each_ref().map(|format| format.id),
            call: field(enter, "id")?,
            arguments: field(enter, "args")?,
            returned_call: field(exit, "id")?,
            returned: field(exit, "ret")?,
            last: field(switch, "prev_pid")?,
            last_state: field(switch, "prev_state")?,
            next: field(switch, "next_pid")?,
            woken: field(wakeup, "pid")?,
            woken_new: field(wakeup_new, "pid")?,
            child: field(fork, "child_pid")?,
        })
    }

    /// The tasks and events of a record; nothing of one that is cut or of another tracepoint.
    pub(super) fn events(&self, record: &[u8]) -> [Option<(u32, Event)>; 2] {
        let kind = self.kind.read(record).map(|kind| kind as u16);
        let place = kind.and_then(|kind| self.kinds.iter().position(|known| *known == kind));
        let task = |field: Field| field.read(record).and_then(|task| u32::try_from(task).ok());
        let current = task(self.task);
        let one = |task: Option<u32>, event: Option<Event>| [task.zip(event), None];
        match place {
            Some(0) => one(current, self.enters(record)),
            Some(1) => one(current, self.returns(record)),
            Some(2) => {
                let stops = self.last_state.read(record).map(stops);
                [task(self.last).zip(stops), task(self.next).zip(Some(Event::Runs))]
            }
            Some(3) => one(task(self.woken), Some(Event::Wakes)),
            Some(4) => one(task(self.woken_new), Some(Event::Wakes)),
            Some(5) => one(current, task(self.child).map(|child| Event::Forks { child })),
            Some(6) => one(current, Some(Event::Ends)),
            _ => [None, None],
        }
    }

    fn enters(&self, record: &[u8]) -> Option<Event> {
        let mut arguments = [0; 6];
        for (index, argument) in arguments.iter_mut().enumerate() {
            *argument = self.arguments.item(index).read(record)? as u64;
        }
        Some(Event::Enters(Call { number: self.call.read(record)?, arguments }))
    }

    fn returns(&self, record: &[u8]) -> Option<Event> {
        let number = self.returned_call.read(record)?;
        Some(Event::Returns { number, value: self.returned.read(record)? })
    }
}

/// A task leaves its processor in this state: bits of the kernel's include/linux/sched.h.
fn stops(state: i64) -> Event {
    match state & 0xff {
        0 => Event::Stops(State::Runnable),
        state if state & 0x02 != 0 => Event::Stops(State::Uninterruptible),
        // A dead task, or one whose parent has not looked yet.
        state if state & 0x30 != 0 => Event::Ends,
        _ => Event::Stops(State::Interruptible),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Formats whose records have all fields one after the other, eight bytes each but for the first.
    fn formats() -> [Format; 7] {
        let fields: [&[&str]; 7] = [
            &["id", "args"],
            &["id", "ret"],
            &["prev_pid", "prev_state", "next_pid"],
            &["pid"],
            &["pid"],
            &["child_pid"],
            &[],
        ];
        let mut id = 10;
        fields.map(|names| {
            id += 1;
            let mut text = format!(
                "ID: {id}\nfield:u16 common_type;offset:0;size:2;\nfield:int common_pid;offset:4;size:4;\n"
            );
            for (place, name) in names.iter().enumerate() {
                text += &format!("field:long {name};offset:{};size:8;\n", 8 + 8 * place);
            }
            Format::parse(&text).unwrap()
        })
    }

    fn events(kind: u16, numbers: &[i64]) -> [Option<(u32, Event)>; 2] {
        let mut record = kind.to_ne_bytes().to_vec();
        record.extend([0, 0]);
        record.extend(77_i32.to_ne_bytes());
        record.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
        Decoder::new(&formats()).unwrap().events(&record)
    }

    #[test]
    fn each_tracepoint_tells_of_its_tasks() {
        let call = Call { number: 257, arguments: [1, 2, 3, 4, 5, 6] };
        let entered = events(11, &[257, 1, 2, 3, 4, 5, 6]);
        assert_eq!(entered, [Some((77, Event::Enters(call))), None]);
        let returned = Event::Returns { number: 257, value: -2 };
        assert_eq!(events(12, &[257, -2]), [Some((77, returned)), None]);
        for (state, event) in [
            (0, Event::Stops(State::Runnable)),
            (0x100, Event::Stops(State::Runnable)),
            (1, Event::Stops(State::Interruptible)),
            (2, Event::Stops(State::Uninterruptible)),
            (4, Event::Stops(State::Interruptible)),
            (0x10, Event::Ends),
        ] {
            assert_eq!(events(13, &[5, state, 6]), [Some((5, event)), Some((6, Event::Runs))]);
        }
        assert_eq!(events(14, &[8]), [Some((8, Event::Wakes)), None]);
        assert_eq!(events(16, &[9]), [Some((77, Event::Forks { child: 9 })), None]);
        assert_eq!(events(17, &[]), [Some((77, Event::Ends)), None]);
        assert_eq!(events(18, &[]), [None, None]);
    }

    proptest! {
        #[test]
        fn any_record_is_read_or_passed_over(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let decoder = Decoder::new(&formats()).unwrap();
            let _ = decoder.events(&bytes);
            if let Some(byte) = bytes.first() {
                let cut = [&[11 + byte % 7, 0], &bytes[1..]].concat();
                let _ = decoder.events(&cut);
            }
        }
    }
}
