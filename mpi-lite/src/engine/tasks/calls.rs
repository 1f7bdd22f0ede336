//! Calls that block, such as the read of a file, on threads of their own. Decision 0075.
//!
//! A thread that makes progress must not block, so a task hands such a call over. The threads are
//! few, are started one by one when calls come, and end with the engine. They never take the lane.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::{fmt, io};

use parking_lot::{Condvar, Mutex};

/// The most threads. Further calls wait for one of them.
const THREADS: usize = 4;

/// A call.
pub(super) type Call = Box<dyn FnOnce() + Send>;

/// The calls of an engine's tasks.
#[derive(Default)]
pub(super) struct Calls(Mutex<Option<Pool>>);

/// The threads, and the process that has them: one that it forks has not.
struct Pool {
    desk: Arc<Desk>,
    threads: Vec<JoinHandle<()>>,
    process: u32,
}

/// What the threads share.
#[derive(Default)]
struct Desk {
    queue: Mutex<Queue>,
    has_more: Condvar,
}

#[derive(Default)]
struct Queue {
    calls: VecDeque<Call>,
    /// Threads that wait for a call.
    idle: usize,
    is_over: bool,
}

impl Calls {
    /// Carries out `call` soon, on another thread.
    ///
    /// # Errors
    /// There is no thread yet, and the system has no more.
    pub(super) fn run(&self, call: Call) -> io::Result<()> {
        let mut pool = self.0.lock();
        let pool = pool.get_or_insert_with(|| Pool {
            desk: Arc::default(),
            threads: Vec::new(),
            process: std::process::id(),
        });
        let is_short = {
            let queue = pool.desk.queue.lock();
            queue.idle <= queue.calls.len() && pool.threads.len() < THREADS
        };
        if is_short {
            match start(&pool.desk) {
                Ok(thread) => pool.threads.push(thread),
                Err(error) if pool.threads.is_empty() => return Err(error),
                Err(_) => {}
            }
        }
        pool.desk.queue.lock().calls.push_back(call);
        pool.desk.has_more.notify_one();
        Ok(())
    }

    /// Ends the threads once their calls have returned; calls that have not begun are dropped.
    pub(super) fn end(&self) {
        let Some(pool) = self.0.lock().take() else {
            return;
        };
        if pool.process != std::process::id() {
            // The queue may have been locked when this process was forked.
            core::mem::forget(pool);
            return;
        }
        let calls = {
            let mut queue = pool.desk.queue.lock();
            queue.is_over = true;
            core::mem::take(&mut queue.calls)
        };
        drop(calls);
        pool.desk.has_more.notify_all();
        let me = std::thread::current().id();
        // A call may have had the last reference to the engine: its thread ends by itself.
        let others = pool.threads.into_iter();
        for thread in others.filter(|thread| thread.thread().id() != me) {
            let _ = thread.join();
        }
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = self.0.lock().as_ref().map_or(0, |pool| pool.threads.len());
        f.debug_struct("Calls").field("threads", &threads).finish()
    }
}

#[expect(clippy::disallowed_methods, reason = "calls that block have threads")]
fn start(desk: &Arc<Desk>) -> io::Result<JoinHandle<()>> {
    let desk = Arc::clone(desk);
    let thread = std::thread::Builder::new().name("mpi-lite call".into());
    thread.spawn(move || {
        while let Some(call) = desk.next() {
            call();
        }
    })
}

impl Desk {
    /// Waits for a call; `None` when there will be none.
    fn next(&self) -> Option<Call> {
        let mut queue = self.queue.lock();
        loop {
            if queue.is_over {
                return None;
            }
            if let Some(call) = queue.calls.pop_front() {
                return Some(call);
            }
            queue.idle += 1;
            self.has_more.wait(&mut queue);
            queue.idle -= 1;
        }
    }
}
