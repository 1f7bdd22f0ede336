//! A step of an operation that takes several: all processes tell each other a few words.

use super::allgather::Allgather;
use super::buffers::Input;
use super::collective::Collective;
use super::near::Near;
use crate::comm::{Call, Everyone, Members, Operation};
use crate::data::Buffer;
use crate::error::Result;

/// Tells all processes `own`, which has as many words everywhere, on behalf of `operation`. Returns
/// the words of all, by rank. Nobody returns before all have come.
///
/// # Errors
/// Those of the messages, and of another operation that a process has called.
pub(crate) async fn tell_all<P: Everyone>(
    operation: Operation,
    own: &[u64],
    peers: &P,
) -> Result<Vec<Vec<u64>>> {
    let (each, processes) = (size_of_val(own), peers.all());
    let all = Buffer::zeroed(each * processes)?;
    let own: Vec<u8> = own.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let gathered = Allgather {
        send: Input::Buffer(Buffer::holding(&own)?),
        receive: all.part(0, each as u64),
    };
    let near = Near::among(peers);
    if near.is_alone() || gathered.at_site(&near, operation)?.is_none() {
        gathered.by_messages(peers).await?;
    }
    let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
    let bytes = all.pack();
    let ranks = bytes.chunks(each.max(1));
    Ok(ranks
        .map(|words| words.as_chunks().0.iter().map(word).collect())
        .collect())
}

/// A step in which all processes tell each other a few words.
pub(crate) struct Told {
    pub(crate) operation: Operation,
    pub(crate) words: Vec<u64>,
}

impl Collective for Told {
    type Output = Vec<Vec<u64>>;

    fn call(&self) -> Call {
        Call::of_all(self.operation)
    }

    fn check(&self, _: Members) -> Result<()> {
        Ok(())
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<Self::Output> {
        tell_all(self.operation, &self.words, peers).await
    }
}
