//! A scene of closed loops as it is played: which client asks when, and what the line sends.
//! [`super`] makes figures of it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weir_sched::{ClientId, PolicyKind, Time};

use super::super::line::{Line, Sent, Step, time};
use super::super::link::Link;
use super::{Again, Looped, Scene, Sizes};

/// Addresses of [`Again::Stranger`], beyond those of any list.
const STRANGERS: u128 = 1 << 127;

/// Whose a connection is, by the place in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Single(usize),
    Loop(usize),
    Leaver(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Asks on a new connection.
    Opens(Whose),
    /// Asks on a connection that it has kept.
    Asks(usize),
    /// Closes a connection.
    Leaves(usize),
}

#[derive(Debug)]
pub(super) struct Playing<'a> {
    scene: &'a Scene,
    line: Line<'a>,
    /// What clients do: time, number in the order of planning, what.
    due: BinaryHeap<Reverse<(Time, u64, Event)>>,
    planned: u64,
    /// By the number of the connection.
    whose: Vec<Whose>,
    /// Responses that each loop has asked.
    asked: Vec<usize>,
    /// Singles that are not done.
    left: usize,
    /// A single has been asked.
    counts: bool,
    looped: Looped,
}

impl<'a> Playing<'a> {
    pub(super) fn new(link: &'a Link, policy: PolicyKind, scene: &'a Scene) -> Playing<'a> {
        let finish = vec![None; scene.singles.len()];
        let mut playing = Playing {
            scene,
            line: Line::new(link, policy),
            due: BinaryHeap::new(),
            planned: 0,
            whose: Vec::new(),
            asked: vec![0; scene.loops.len()],
            left: scene.singles.len(),
            counts: false,
            looped: Looped { finish, responses: 0, single_bytes: 0, bytes: 0 },
        };
        playing.begin();
        playing
    }

    fn begin(&mut self) {
        for (index, looping) in self.scene.loops.iter().enumerate() {
            for _ in 0..looping.connections {
                self.plan(Time::ZERO, Event::Opens(Whose::Loop(index)));
            }
        }
        for (index, leaver) in self.scene.leavers.iter().enumerate() {
            for _ in 0..leaver.requests {
                self.plan(time(leaver.at), Event::Opens(Whose::Leaver(index)));
            }
        }
        for (index, single) in self.scene.singles.iter().enumerate() {
            self.plan(time(single.at), Event::Opens(Whose::Single(index)));
        }
    }

    fn plan(&mut self, at: Time, event: Event) {
        self.planned += 1;
        self.due.push(Reverse((at, self.planned, event)));
    }

    pub(super) fn run(mut self) -> Looped {
        let (mut now, until) = (Time::ZERO, time(self.scene.until));
        while self.left > 0 && now <= until {
            while let Some(&Reverse((at, _, event))) = self.due.peek()
                && at <= now
            {
                self.due.pop();
                self.happens(now, event);
            }
            self.line.hear(now);
            let wake = match self.line.step(now) {
                Step::Sent(sent) => {
                    self.sent(now, sent);
                    continue;
                }
                Step::Wait(wake) => wake,
            };
            let due = self.due.peek().map(|Reverse((at, ..))| *at);
            let Some(at) = wake.into_iter().chain(due).min() else { break };
            now = now.max(at);
        }
        self.looped
    }

    fn happens(&mut self, now: Time, event: Event) {
        match event {
            Event::Opens(whose) => self.open(now, whose),
            Event::Asks(socket) => self.ask(now, socket),
            Event::Leaves(socket) => {
                self.line.close(now, socket);
            }
        }
    }

    fn open(&mut self, now: Time, whose: Whose) {
        let scene = self.scene;
        let (address, client) = match whose {
            Whose::Single(index) => (scene.singles[index].address, scene.singles[index].client),
            Whose::Leaver(index) => (scene.leavers[index].address, scene.leavers[index].client),
            Whose::Loop(index) => {
                let looping = &scene.loops[index];
                let stranger = ClientId(STRANGERS + self.whose.len() as u128);
                match looping.again {
                    Again::Stranger => (stranger, looping.client),
                    Again::Kept | Again::New | Again::Pipelined => {
                        (looping.address, looping.client)
                    }
                }
            }
        };
        let socket = self.line.open(now, address, client);
        self.whose.push(whose);
        self.count(whose, self.line.link.connection);
        self.ask(now, socket);
    }

    /// The next response on a connection.
    fn ask(&mut self, now: Time, socket: usize) {
        let (size, range_of) = match self.whose[socket] {
            Whose::Single(index) => (Some(self.scene.singles[index].size), None),
            Whose::Loop(index) => {
                self.asked[index] += 1;
                (self.size(index, self.asked[index] - 1), self.scene.loops[index].range_of)
            }
            Whose::Leaver(index) => {
                let leaver = &self.scene.leavers[index];
                self.plan(now + leaver.stays, Event::Leaves(socket));
                (Some(leaver.size), None)
            }
        };
        match size {
            Some(size) => self.line.ask(now, socket, size, range_of),
            None => {
                self.line.close(now, socket);
            }
        }
    }

    /// Of a loop's response with this number; `None`: the loop has ended.
    fn size(&self, index: usize, number: usize) -> Option<u64> {
        match &self.scene.loops[index].sizes {
            Sizes::Always(size) => Some(*size),
            Sizes::Once(sizes) => sizes.get(number).copied(),
        }
    }

    fn sent(&mut self, now: Time, sent: Sent) {
        let whose = self.whose[sent.socket];
        self.count(whose, sent.wire);
        let Some(finish) = sent.done else { return };
        let goes_on = match whose {
            Whose::Single(index) => {
                self.looped.finish[index] = Some(finish);
                self.left -= 1;
                None
            }
            Whose::Leaver(_) => None,
            Whose::Loop(index) => {
                self.looped.responses += 1;
                self.size(index, self.asked[index]).map(|_| &self.scene.loops[index])
            }
        };
        let Some(looping) = goes_on else {
            self.line.close(now, sent.socket);
            return;
        };
        // From the client's last byte to the server's next request.
        let asks = time(finish.received) + looping.client.round_trip / 2;
        match looping.again {
            Again::Kept => self.plan(asks, Event::Asks(sent.socket)),
            Again::Pipelined => self.plan(now, Event::Asks(sent.socket)),
            Again::New | Again::Stranger => {
                self.line.close(now, sent.socket);
                self.plan(asks, Event::Opens(whose));
            }
        }
    }

    fn count(&mut self, whose: Whose, wire: u64) {
        if let Whose::Single(_) = whose {
            self.looped.single_bytes += wire;
            self.counts = true;
        }
        if self.counts {
            self.looped.bytes += wire;
        }
    }
}
