//! A table of things by small index, which reuses free places.

/// Things by index. Indices of removed things are given out again.
#[derive(Debug)]
pub struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Puts `thing` in a free place and answers its index.
    pub fn insert(&mut self, thing: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.places[index as usize] = Some(thing);
            return index;
        }
        self.places.push(Some(thing));
        u32::try_from(self.places.len() - 1).expect("fewer than 2^32 things at a time")
    }

    /// The thing at `index`.
    #[must_use]
    pub fn get(&self, index: u32) -> Option<&T> {
        self.places.get(index as usize)?.as_ref()
    }

    /// The thing at `index`.
    pub fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.places.get_mut(index as usize)?.as_mut()
    }

    /// Takes the thing at `index` out.
    pub fn remove(&mut self, index: u32) -> Option<T> {
        let thing = self.places.get_mut(index as usize)?.take()?;
        self.free.push(index);
        Some(thing)
    }

    /// How many things there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All things with their indices.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.places
            .iter()
            .zip(0..)
            .filter_map(|(place, index)| place.as_ref().map(|thing| (index, thing)))
    }
}
