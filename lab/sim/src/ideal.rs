//! The ideal servers: exact shortest remaining first and exact processor
//! sharing, one server of constant speed, no packets, no delay. Both are given
//! jobs in order of arrival and return when each would finish.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// What the server must do: when it is asked, and how much work it is.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Seconds.
    pub arrival: f64,
    /// In the unit of the speed (bytes, seconds).
    pub work: f64,
}

/// A job in a heap; equal keys leave in order of arrival.
#[derive(Clone, Copy, PartialEq)]
struct Waiting {
    key: f64,
    index: usize,
}

impl Eq for Waiting {}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.total_cmp(&other.key).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Finish times under preemptive shortest remaining first, `speed` units of work
/// a second. A tie keeps the running job.
pub fn srpt(jobs: &[Job], speed: f64) -> Vec<f64> {
    let mut finish = vec![f64::NAN; jobs.len()];
    let mut waiting: BinaryHeap<Reverse<Waiting>> = BinaryHeap::new();
    let mut running: Option<Waiting> = None;
    let mut now = 0.0;
    for (index, job) in jobs.iter().enumerate() {
        while let Some(mut current) = running {
            let end = now + current.key / speed;
            if end > job.arrival {
                current.key -= (job.arrival - now) * speed;
                running = Some(current);
                break;
            }
            finish[current.index] = end;
            now = end;
            running = waiting.pop().map(|Reverse(next)| next);
        }
        now = job.arrival;
        let key = job.work;
        let arrived = Waiting { key, index };
        match running {
            None => running = Some(arrived),
            Some(current) if key < current.key => {
                waiting.push(Reverse(current));
                running = Some(arrived);
            }
            Some(_) => waiting.push(Reverse(arrived)),
        }
    }
    while let Some(current) = running {
        now += current.key / speed;
        finish[current.index] = now;
        running = waiting.pop().map(|Reverse(next)| next);
    }
    finish
}

/// Finish times under processor sharing: all present jobs share the speed
/// equally. Virtual time is the work each present job has had since the server
/// was last empty, so a job finishes when it reaches its arrival's plus its work.
pub fn processor_sharing(jobs: &[Job], speed: f64) -> Vec<f64> {
    let mut finish = vec![f64::NAN; jobs.len()];
    let mut present: BinaryHeap<Reverse<Waiting>> = BinaryHeap::new();
    let mut now = 0.0;
    let mut attained = 0.0;
    let end_of_time = Job { arrival: f64::INFINITY, work: 0.0 };
    for (index, job) in jobs.iter().chain(std::iter::once(&end_of_time)).enumerate() {
        while let Some(&Reverse(next)) = present.peek() {
            let share = speed / present.len() as f64;
            let end = now + (next.key - attained) / share;
            if end > job.arrival {
                attained += (job.arrival - now) * share;
                break;
            }
            finish[next.index] = end;
            now = end;
            attained = next.key;
            present.pop();
        }
        if index == jobs.len() {
            break;
        }
        if present.is_empty() {
            attained = 0.0;
        }
        now = job.arrival;
        let key = attained + job.work;
        present.push(Reverse(Waiting { key, index }));
    }
    finish
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worked_case() -> Vec<Job> {
        [(0.0, 4.0), (1.0, 2.0), (2.0, 1.0)].map(|(arrival, work)| Job { arrival, work }).to_vec()
    }

    #[test]
    fn processor_sharing_of_the_worked_case() {
        assert_eq!(processor_sharing(&worked_case(), 1.0), [7.0, 6.0, 5.0]);
    }

    #[test]
    fn srpt_of_the_worked_case_keeps_the_running_job_on_a_tie() {
        assert_eq!(srpt(&worked_case(), 1.0), [7.0, 3.0, 4.0]);
    }

    #[test]
    fn servers_are_idle_between_busy_spells_and_speed_scales() {
        let mut jobs = worked_case();
        jobs.push(Job { arrival: 9.0, work: 2.0 });
        assert_eq!(srpt(&jobs, 1.0)[3], 11.0);
        assert_eq!(processor_sharing(&jobs, 1.0)[3], 11.0);
        assert_eq!(srpt(&jobs, 2.0)[3], 10.0);
    }

    #[test]
    fn equal_jobs_share_equally() {
        let jobs = vec![Job { arrival: 0.0, work: 3.0 }; 3];
        assert_eq!(processor_sharing(&jobs, 1.0), [9.0, 9.0, 9.0]);
        assert_eq!(srpt(&jobs, 1.0), [3.0, 6.0, 9.0]);
    }
}
