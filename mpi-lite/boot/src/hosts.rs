//! The hosts of the ranks of a job: each name once, whatever number of ranks it has.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The host of each rank, by rank, as the user named it. A copy is cheap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Listed", into = "Listed")]
pub struct Hosts(Arc<Named>);

#[derive(Debug, PartialEq, Eq)]
struct Named {
    names: Vec<Arc<str>>,
    /// By rank, the place of its name.
    of: Vec<u32>,
}

/// The form in frames.
#[derive(Serialize, Deserialize)]
struct Listed {
    names: Vec<String>,
    of: Vec<u32>,
}

impl Hosts {
    /// The hosts of these ranks.
    #[must_use]
    pub fn of<T: AsRef<str>>(ranks: &[T]) -> Self {
        let mut known = BTreeMap::new();
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut place = |host: &str| {
            *known.entry(host.to_owned()).or_insert_with(|| {
                names.push(host.into());
                u32::try_from(names.len() - 1).expect("fewer names than ranks")
            })
        };
        let of = ranks.iter().map(|host| place(host.as_ref())).collect();
        Self(Arc::new(Named { names, of }))
    }

    /// How many ranks there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.of.len()
    }

    /// The host of this rank, if the job has it.
    #[must_use]
    pub fn get(&self, rank: usize) -> Option<&str> {
        let place = *self.0.of.get(rank)?;
        Some(&self.0.names[place as usize])
    }

    /// The hosts of all ranks, by rank.
    pub fn all(&self) -> impl Iterator<Item = &Arc<str>> {
        let places = self.0.of.iter();
        places.map(|place| &self.0.names[*place as usize])
    }
}

impl From<Vec<String>> for Hosts {
    fn from(ranks: Vec<String>) -> Self {
        Self::of(&ranks)
    }
}

impl From<Hosts> for Listed {
    fn from(hosts: Hosts) -> Self {
        Self {
            names: hosts.0.names.iter().map(|name| (**name).into()).collect(),
            of: hosts.0.of.clone(),
        }
    }
}

impl TryFrom<Listed> for Hosts {
    type Error = &'static str;

    fn try_from(listed: Listed) -> Result<Self, Self::Error> {
        let count = listed.names.len();
        if listed.of.iter().any(|place| *place as usize >= count) {
            return Err("a rank has a host without a name");
        }
        Ok(Self(Arc::new(Named {
            names: listed.names.into_iter().map(Arc::from).collect(),
            of: listed.of,
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_its_host_also_after_its_way_in_a_frame() {
        let names = ["a", "b", "a", "c", "b"];
        let hosts = Hosts::of(&names);
        let bytes = postcard::to_allocvec(&hosts).unwrap();
        for hosts in [hosts.clone(), postcard::from_bytes(&bytes).unwrap()] {
            assert_eq!(hosts.count(), 5);
            assert!(hosts.all().map(|host| &**host).eq(names));
            assert_eq!((hosts.get(3), hosts.get(5)), (Some("c"), None));
        }
        let thousand = postcard::to_allocvec(&Hosts::of(&["localhost"; 1000])).unwrap();
        assert!(thousand.len() < 1100);
    }

    #[test]
    fn a_rank_whose_host_has_no_name_is_refused() {
        let listed = Listed {
            names: vec!["a".into()],
            of: vec![0, 1],
        };
        let bytes = postcard::to_allocvec(&listed).unwrap();
        assert!(postcard::from_bytes::<Hosts>(&bytes).is_err());
    }
}
