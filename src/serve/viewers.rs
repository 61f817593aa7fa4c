//! Who is looking, and which one of them drives.

use serde::Serialize;
use tokio::sync::watch;

/// Viewers at a time. Each may hold a picture that it is being sent.
const MOST: usize = 256;

/// Everybody who looks, in the order in which they came.
#[derive(Debug, Default)]
pub struct Roles {
    viewers: Vec<u64>,
    driver: Option<u64>,
    next: u64,
}

/// The viewers of a server.
#[derive(Debug, Default)]
pub struct Viewers(watch::Sender<Roles>);

/// One of them, until it is dropped.
pub struct Viewer<'a> {
    id: u64,
    all: &'a Viewers,
}

/// What a viewer is told about the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Role {
    /// This one's commands are obeyed.
    pub driving: bool,
    /// How many look.
    pub viewers: usize,
}

impl Viewers {
    /// One more, unless there are too many; the first one drives.
    pub fn join(&self) -> Option<Viewer<'_>> {
        let mut id = None;
        self.0.send_if_modified(|roles| {
            if roles.viewers.len() < MOST {
                id = Some(roles.next);
                roles.viewers.push(roles.next);
                roles.driver.get_or_insert(roles.next);
                roles.next += 1;
            }
            id.is_some()
        });
        id.map(|id| Viewer { id, all: self })
    }
}

impl Viewer<'_> {
    /// This one drives from now on.
    pub fn drive(&self) {
        self.all.0.send_modify(|roles| roles.driver = Some(self.id));
    }

    /// Its role now.
    pub fn role(&self) -> Role {
        let roles = self.all.0.borrow();
        Role { driving: roles.driver == Some(self.id), viewers: roles.viewers.len() }
    }

    /// Changes whenever somebody comes, goes or takes over.
    pub fn changes(&self) -> watch::Receiver<Roles> {
        self.all.0.subscribe()
    }
}

impl Drop for Viewer<'_> {
    fn drop(&mut self) {
        self.all.0.send_modify(|roles| {
            roles.viewers.retain(|viewer| *viewer != self.id);
            if roles.driver == Some(self.id) {
                roles.driver = roles.viewers.first().copied();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_drives() {
        let all = Viewers::default();
        let (first, second) = (all.join().expect("room"), all.join().expect("room"));
        assert_eq!(first.role(), Role { driving: true, viewers: 2 });
        assert!(!second.role().driving);
        let third = all.join().expect("room");
        third.drive();
        assert!(third.role().driving && !first.role().driving);
        drop(third);
        assert!(first.role().driving, "who waits longest takes over");
        drop(first);
        assert_eq!(second.role(), Role { driving: true, viewers: 1 });
        drop(second);
        assert!(all.join().expect("room").role().driving);
    }

    #[test]
    fn there_is_a_limit() {
        let all = Viewers::default();
        let some: Vec<_> = std::iter::from_fn(|| all.join()).collect();
        assert_eq!(some.len(), MOST);
        drop(some);
        assert!(all.join().is_some());
    }
}
