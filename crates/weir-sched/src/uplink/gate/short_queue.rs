//! A queue that nearly always has one member, which then needs no memory of its own. Used for the
//! responses that follow each other in a share.

use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct ShortQueue<T> {
    first: Option<T>,
    #[expect(clippy::box_collection, reason = "there are nearly never any: a pointer takes less")]
    others: Option<Box<VecDeque<T>>>,
}

impl<T> Default for ShortQueue<T> {
    fn default() -> Self {
        ShortQueue { first: None, others: None }
    }
}

impl<T> ShortQueue<T> {
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.as_ref().map_or(0, |others| others.len())
    }

    pub(super) fn first(&self) -> Option<&T> {
        self.first.as_ref()
    }

    pub(super) fn push(&mut self, member: T) {
        match self.first {
            None => self.first = Some(member),
            Some(_) => self.others.get_or_insert_default().push_back(member),
        }
    }

    pub(super) fn pop_first(&mut self) -> Option<T> {
        let next = self.others.as_mut().and_then(|others| others.pop_front());
        std::mem::replace(&mut self.first, next)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().chain(self.others.iter_mut().flat_map(|others| others.iter_mut()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_keeps_the_order(steps in prop::collection::vec((0u32..8, any::<bool>()), 1..100)) {
            let (mut queue, mut model) = (ShortQueue::default(), VecDeque::new());
            for (member, comes) in steps {
                if comes {
                    queue.push(member);
                    model.push_back(member);
                } else {
                    prop_assert_eq!(queue.pop_first(), model.pop_front());
                }
                prop_assert!(queue.iter_mut().eq(model.iter_mut()));
                prop_assert_eq!(queue.first(), model.front());
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }
}
