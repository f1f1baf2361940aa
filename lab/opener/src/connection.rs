//! A connection of a server, from its hello to its end: reads questions, asks the opener, sends answers in
//! the order in which they are known. One task each, started by `serve`.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use rustix::io::Errno;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::messages::{Socket, receive, send};
use crate::opener::{Opener, Reply, Told};
use crate::protocol::{
    Answer, Found, Hello, LONGEST_QUESTION, Malformed, Question, SHORT, Welcome,
};

/// The longest that a server may take to say hello.
const HELLO: Duration = Duration::from_secs(5);

/// Questions of a connection that wait for a helper. Further ones are read when one of them is answered.
const PIPELINED: usize = 64;

/// How a connection ended that did not end by itself.
#[derive(Debug)]
pub(crate) enum Cut {
    /// It speaks another version.
    Version,
    /// It said what is no message, or passed descriptors.
    Malformed,
    /// It does not take its answers, or does not say hello.
    Slow,
    /// The socket failed: the server is gone.
    Failed,
}

impl From<io::Error> for Cut {
    fn from(error: io::Error) -> Cut {
        match error.kind() {
            io::ErrorKind::TimedOut => Cut::Slow,
            io::ErrorKind::InvalidData => Cut::Malformed,
            _ => Cut::Failed,
        }
    }
}

impl From<Malformed> for Cut {
    fn from(_: Malformed) -> Cut {
        Cut::Malformed
    }
}

/// Answers until the server closes the connection.
///
/// # Errors
///
/// It was cut.
pub(crate) async fn serve(socket: Socket, opener: Rc<Opener>) -> Result<(), Cut> {
    let mut buffer = vec![0; LONGEST_QUESTION];
    let length = timeout(HELLO, receive(&socket, &mut buffer)).await.map_err(|_| Cut::Slow)??;
    if length == 0 {
        return Ok(());
    }
    let welcome = Welcome::to(Hello::decode(message(&buffer, length)?)?);
    send(&socket, &welcome.encode(), None).await?;
    if !welcome.accepted {
        return Err(Cut::Version);
    }
    let socket = Rc::new(socket);
    // Those that wait go with the connection.
    let mut waiting = JoinSet::new();
    loop {
        tokio::select! {
            received = receive(&socket, &mut buffer), if waiting.len() < PIPELINED => {
                let length = received?;
                if length == 0 {
                    return Ok(());
                }
                let question = Question::decode(message(&buffer, length)?)?;
                match opener.ask(question.name) {
                    Reply::Now(told) => answer(&socket, question.number, &told).await?,
                    Reply::Later(later) => {
                        let (socket, opener) = (socket.clone(), opener.clone());
                        let number = question.number;
                        waiting.spawn_local(async move {
                            let told = opener.told(later).await;
                            answer(&socket, number, &told).await
                        });
                    }
                }
            }
            // A task that panicked has not answered: the server must not wait for it.
            Some(answered) = waiting.join_next() => answered.map_err(|_| Cut::Failed)??,
        }
    }
}

async fn answer(socket: &Socket, number: u32, told: &Told) -> io::Result<()> {
    let answer: [u8; SHORT] = Answer { number, found: told.found }.encode();
    match send(socket, &answer, told.descriptor()).await {
        // So many are passed and not received, by whomever, that the kernel passes no more (unix(7)).
        Err(error) if error.raw_os_error() == Some(Errno::TOOMANYREFS.raw_os_error()) => {
            let answer = Answer { number, found: Found::NotTold(0) }.encode();
            send(socket, &answer, None).await
        }
        sent => sent,
    }
}

/// What was received, unless it was longer than any message.
fn message(buffer: &[u8], length: usize) -> Result<&[u8], Malformed> {
    buffer.get(..length).ok_or(Malformed)
}
